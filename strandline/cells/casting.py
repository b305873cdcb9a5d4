"""A cell that a person, a file or a database gives, as a value of a history's column.

What records hold is decoded as their schema says (`strandline.cells.values`). Here nobody says
anything: a cell is a text, or a value of whatever type its file has, and the column's type decides.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from strandline.cells import rendering
from strandline.cells.spelling import NOT_FINITE, NUMBER, compact
from strandline.cells.types import ColumnType, Kind
from strandline.cells.values import single

_BITS = {Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63}
_TRUE, _FALSE = {"t", "true", "y", "yes", "1"}, {"f", "false", "n", "no", "0"}
_INTEGER, _NUMBER = re.compile(r"[+-]?[0-9]+"), re.compile(rf"\+?(?:{NUMBER})")
_WORDS = {word.lower(): float(word) for word in NOT_FINITE}
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
_MICROSECOND = timedelta(microseconds=1)


def cast(cell: object, of: ColumnType) -> object:
    """The value as the law has it (`strandline.cells.values.decode`); None stays None.

    Bytes are base64 where the cell is a text, times of day are microseconds, an instant without a
    zone is UTC's, and decimals are rounded to the column's scale, half up. Raises `ValueError`
    where the cell is no value of the type.
    """
    if cell is None:
        return None
    try:
        return _CASTS[of.kind](cell, of)
    except (ArithmeticError, TypeError, binascii.Error) as error:
        raise ValueError(str(error)) from error


def text(value: object) -> str | None:
    """A value as a text that `cast` makes the same value of, with the type that it has."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case float() if math.isfinite(value):
            return repr(value)
        case _:
            return str(rendering.plain(value))


def _text(cell: object, of: ColumnType) -> str:
    del of
    match cell:
        case bytes():
            return cell.decode()
        case float():
            return rendering.floating(cell)
        case datetime():
            return cell.isoformat(sep=" ")
        case dict() | list():
            return compact(_plainly(cell))
        case time() | timedelta():
            return str(_micros(cell))
    return text(cell) or ""


def _plainly(cell: Any) -> Any:
    """A nested cell in JSON's types."""
    if isinstance(cell, Mapping):
        return {name: _plainly(each) for name, each in cell.items()}
    if isinstance(cell, list):
        return [_plainly(each) for each in cell]
    return rendering.plain(cell)


def _binary(cell: object, of: ColumnType) -> bytes:
    del of
    if isinstance(cell, bytes):
        return cell
    return base64.b64decode(_word(cell), validate=True)


def _boolean(cell: object, of: ColumnType) -> bool:
    del of
    if isinstance(cell, int | float | Decimal):
        return bool(cell)
    word = _word(cell).lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("not a boolean")
    return word in _TRUE


def _integer(cell: object, of: ColumnType) -> int:
    match cell:
        case int():
            number = int(cell)
        case float() | Decimal():
            number = int(cell)
            if number != cell:
                raise ValueError("not an integer")
        case time() | timedelta():
            number = _micros(cell)
        case _:
            number = int(_matched(_INTEGER, cell))
    if not -(1 << _BITS[of.kind]) <= number < 1 << _BITS[of.kind]:
        raise ValueError(f"out of the range of {of.spark}")
    return number


def _floating(cell: object, of: ColumnType) -> float:
    if isinstance(cell, int | float | Decimal):
        number = float(cell)
    else:
        word = _word(cell).lower()
        number = _WORDS[word] if word in _WORDS else float(_matched(_NUMBER, cell))
    return single(number) if of.kind is Kind.FLOAT else number


def _decimal(cell: object, of: ColumnType) -> Decimal:
    if isinstance(cell, float):
        cell = repr(cell)
    number = Decimal(cell if isinstance(cell, int | Decimal) else _matched(_NUMBER, cell))
    fitted = number.quantize(Decimal((0, (1,), -of.scale)), context=_EXACT)
    if len(fitted.as_tuple().digits) > of.precision:
        raise ValueError(f"does not fit {of.spark}")
    return fitted or abs(fitted)


def _date(cell: object, of: ColumnType) -> date:
    del of
    if isinstance(cell, datetime):
        return cell.date()
    if isinstance(cell, date):
        return cell
    word = _word(cell)
    if word[10:11] not in {"", " ", "T"}:
        raise ValueError("not a date")
    return date.fromisoformat(word[:10])


def _local(cell: object, of: ColumnType) -> datetime:
    del of
    if isinstance(cell, str):  # its zone is nobody's: the clock that it shows counts
        return datetime.fromisoformat(_word(cell)).replace(tzinfo=None)
    found = _clock(cell)
    return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)


def _instant(cell: object, of: ColumnType) -> datetime:
    del of
    found = datetime.fromisoformat(_word(cell)) if isinstance(cell, str) else _clock(cell)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _clock(cell: object) -> datetime:
    if isinstance(cell, datetime):
        return cell
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day)  # noqa: DTZ001 - local, no zone
    raise ValueError("not a date or time")


def _micros(cell: time | timedelta) -> int:
    if isinstance(cell, time):
        cell = datetime.combine(date.min, cell) - datetime.combine(date.min, time())
    return cell // _MICROSECOND


def _word(cell: object) -> str:
    if not isinstance(cell, str):
        raise ValueError(f"{type(cell).__name__} is no such value")  # noqa: TRY004 - one kind of error
    return cell.strip()


def _matched(pattern: re.Pattern[str], cell: object) -> str:
    word = _word(cell)
    if not pattern.fullmatch(word):
        raise ValueError("not a number")
    return word


_CASTS: Mapping[Kind, Callable[[Any, ColumnType], object]] = {
    Kind.BOOLEAN: _boolean,
    Kind.INT16: _integer,
    Kind.INT32: _integer,
    Kind.INT64: _integer,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _floating,
    Kind.DOUBLE: _floating,
    Kind.TEXT: _text,
    Kind.BINARY: _binary,
    Kind.DATE: _date,
    Kind.LOCAL: _local,
    Kind.INSTANT: _instant,
}
