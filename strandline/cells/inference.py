"""What a JSON value says of its column's type, where nobody declared one: JSON's own types.

Both engines infer alike: integers of 64 bits, longer ones as exact decimals, fractions as double,
nested documents as their text. A null says nothing.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any

from strandline.cells.types import MAX_PRECISION, TEXT, ColumnType, Kind, Wire
from strandline.errors import Terminal

BOOLEAN = ColumnType(Kind.BOOLEAN)
INTEGER = ColumnType(Kind.INT64)
LONG_INTEGER = ColumnType(Kind.DECIMAL, Wire.PLAIN, MAX_PRECISION, 0)
FRACTION = ColumnType(Kind.DOUBLE)
NESTED = ColumnType(Kind.TEXT, Wire.JSON)


def json_type(value: Any) -> ColumnType:
    """The type of one value; of null that of a text, which every null fits."""
    match value:
        case bool():
            return BOOLEAN
        case int():
            return INTEGER if -(1 << 63) <= value < 1 << 63 else LONG_INTEGER
        case str() | None:
            return TEXT
        case dict() | list():
            return NESTED
        case _:
            return FRACTION


def merged(column: str, types: Iterable[ColumnType]) -> ColumnType:
    """One type for what several values showed: JSON knows one kind of number.

    Raises `Terminal` where the values are of different kinds.
    """
    return reduce(lambda a, b: _joined(column, a, b), types)


def _joined(column: str, a: ColumnType, b: ColumnType) -> ColumnType:
    if a == b:
        return a
    if {a, b} <= {INTEGER, LONG_INTEGER, FRACTION}:
        return FRACTION if FRACTION in {a, b} else LONG_INTEGER
    raise Terminal(
        f"column '{column}' holds JSON values of different kinds ({_called(a)}, {_called(b)}): "
        "declare its type in the table's 'columns'"
    )


def _called(of: ColumnType) -> str:
    """A nested document is stored as text, and is none."""
    return "document" if of == NESTED else of.spark
