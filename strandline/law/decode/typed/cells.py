"""Cells by the type of their column: what msgspec reads, and what makes the value of it.

A cell's msgspec type accepts only what is written the plain way for its column. What needs more
than that is made by `strandline.cells.values`, which is the meaning.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import msgspec

from strandline.cells import values
from strandline.cells.inference import BOOLEAN, FRACTION, INTEGER
from strandline.cells.types import TEXT, ColumnType, Kind, Wire

LEAST, MOST = -(1 << 63), (1 << 63) - 1  # of a whole number of 64 bits
INT64 = Annotated[int, msgspec.Meta(ge=LEAST, le=MOST)]
_INTS: Mapping[Kind, Any] = {
    Kind.INT16: Annotated[int, msgspec.Meta(ge=-(1 << 15), le=(1 << 15) - 1)],
    Kind.INT32: Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)],
    Kind.INT64: INT64,
}
# Of a column that nobody declared: JSON's own scalars. A long integer would come as a fraction.
SCALAR: Any = bool | INT64 | float | str | None
_SAFE = float(1 << 53)
# What JSON's own types are, by the class of the value.
INFERRED: Mapping[type, ColumnType] = {bool: BOOLEAN, int: INTEGER, float: FRACTION, str: TEXT}

Make = Callable[[Any], object]

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times have no zone
_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = date(1970, 1, 1)


def is_fraction(value: float) -> bool:
    """Whether a number was surely sent as what it is: not as an integer of too many digits."""
    return -_SAFE < value < _SAFE


def of_type(of: ColumnType) -> tuple[Any, Make | None]:
    """The msgspec type of a column's cells, and what makes their values; None: they are values."""
    if of.assumed:
        return INT64 | str | None, lambda value: values.decode(value, of)
    if of.wire is Wire.PLAIN and of.kind in _INTS:
        return _INTS[of.kind] | None, None
    if of.wire is Wire.PLAIN and of.kind is Kind.BOOLEAN:
        return bool | None, None
    if of.wire in {Wire.PLAIN, Wire.JSON_TEXT} and of.kind is Kind.TEXT:
        return str | None, None
    if of.wire is Wire.PLAIN and of.kind is Kind.DOUBLE:
        return float | None, None
    if of.wire is Wire.DAYS:
        return _held(of), lambda days: _DAY + timedelta(days=days)
    if of.wire in {Wire.MILLIS, Wire.MICROS} and of.kind in {Kind.LOCAL, Kind.INSTANT}:
        epoch = _INSTANT if of.kind is Kind.INSTANT else _EPOCH
        unit = 1000 if of.wire is Wire.MILLIS else 1
        return _held(of), lambda ticks: epoch + timedelta(microseconds=ticks * unit)
    return INT64 | str | None, lambda value: values.decode(value, of)


def _held(of: ColumnType) -> Any:
    least, most = values.HELD[of.wire]
    return Annotated[int, msgspec.Meta(ge=least, le=most)] | None
