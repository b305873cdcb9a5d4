"""Floats as Java prints them: what JsonConverter writes where other formats have the bits."""

import math
from decimal import Decimal

from strandline.cells.spelling import Number
from strandline.cells.values import single


def number(value: float, *, narrow: bool = False) -> Number | str:
    """A float as it stands in JSON: 1.0E10, 0.001, 9.999999E-4; what is not finite is a text.

    `narrow`: one of 32 bits, with as many digits as tell it from its neighbours.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    text = repr(single(value) if narrow else value)
    if "e" not in text and -1e7 < value < 1e7 and (abs(value) >= 1e-3 or not value):
        return Number(text)
    sign, digits, exponent = Decimal(text).normalize().as_tuple()
    letters = "".join(map(str, digits))
    power = len(letters) + int(exponent) - 1
    return Number(f"{'-' * sign}{letters[0]}.{letters[1:] or '0'}E{power}")
