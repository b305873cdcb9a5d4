"""Prints a history row as `strandline history` does. Both engines print through here."""

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from strandline.cells.naming import TABLE


def line(table: str, cells: Mapping[str, object]) -> str:
    """One history row as a line of JSON; `_table` first, then the cells in their order."""
    shown = {TABLE: table, **{name: plain(value) for name, value in cells.items()}}
    return json.dumps(shown, ensure_ascii=False)


def plain(value: object) -> object:
    """A cell in JSON's types: decimals, dates and times as text, binary as base64.

    Instants end in `Z`, local times do not; both have microseconds. NaN and infinities are text.
    """
    match value:
        case datetime():
            return _time(value)
        case date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


def floating(value: float) -> str:
    """A float as text the way Java spells it: 1.0E10 and 1.0E-4, plain between 0.001 and 10^7.

    What keys show: both engines have to write the same. Source: `java.lang.Double.toString`, but
    for the numbers nearest to zero, of which Java writes two digits where one would do.
    """
    if not math.isfinite(value):
        return str(plain(value))
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    shown = "".join(map(str, digits))
    power = len(shown) + int(exponent) - 1  # of ten, that the first digit stands for
    minus = "-" if sign else ""
    if any(digits) and not -3 <= power < 7:
        return f"{minus}{shown[0]}.{shown[1:] or '0'}E{power}"
    plainly = format(Decimal((0, digits, int(exponent))), "f")
    return minus + (plainly if "." in plainly else plainly + ".0")


def _time(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
