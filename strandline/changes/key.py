"""Keys as canonical JSON text: what tables are joined on and what `_moved_to` shows.

Canonical: the key's columns in their order, no white space, booleans and whole and decimal numbers
as such, every other value as text in the form that `cells.rendering` prints. The text of a key
is the same whichever bytes the converter wrote (with schema or without, int32 or int64), and stays
the same when the type of a column widens: a decimal ends with its last digit that says something,
and a local time of midnight is its date.
"""

import json
from collections.abc import Mapping
from datetime import datetime, time
from decimal import Decimal
from functools import lru_cache

from strandline.cells.rendering import floating, plain
from strandline.cells.spelling import Number, spelled
from strandline.cells.values import compact

_MIDNIGHT = time()


def canonical(cells: Mapping[str, object]) -> str:
    """The key's text, e.g. `{"order_id":2,"line_no":9}`."""
    return compact({name: _component(value) for name, value in cells.items()})


@lru_cache(maxsize=4096)  # the law asks several times of each record
def names(key: str) -> tuple[str, ...]:
    """The columns of a canonical key, in their order."""
    return tuple(json.loads(key))


def text(value: object) -> str:
    """One cell in the words of a key, without quotes: 10.50 as 10.5, true as true."""
    return spelled(_component(value))


def shortest(number: Decimal) -> Number:
    """The same number without the zeros at its end: 10.50 as 10.5, 10.00 as 10."""
    text = format(number or abs(number), "f")  # no -0
    return Number(text.rstrip("0").removesuffix(".") if "." in text else text)


def _component(value: object) -> object:
    match value:
        case float():
            return floating(value)
        case Decimal():
            return shortest(value)
        case datetime() if value.tzinfo is None and value.time() == _MIDNIGHT:
            return value.date().isoformat()
    shown = plain(value)
    return shown if shown is None or isinstance(shown, bool | int | str) else str(shown)
