"""JSON values to Python values, one decoder per wire form (see `strandline.cells.types`).

A decoder reads the cell's text, which is all that Spark is handed, and judges it by the patterns
of `cells.spelling`. What a cell holds is one
of three things: a value; *unfit*, no value of its type; *unheld*, a value of its type that the
history column has no room for, such as PostgreSQL's infinity. None is ever altered to fit.
"""

import math
import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from strandline.cells import binary, modes, spelling, structured, wrapping
from strandline.cells.misfit import UnfitError, UnheldError
from strandline.cells.spelling import Number, compact, quote, spelled
from strandline.cells.types import MAX_SCALE, ColumnType, Kind, Wire

__all__ = (
    "HELD",
    "MAX_MICROS",
    "MIN_MICROS",
    "Number",
    "UnfitError",
    "UnheldError",
    "compact",
    "decode",
    "exact",
    "quote",
    "single",
)

# What DATE and TIMESTAMP hold.
MIN_MICROS, MAX_MICROS = wrapping.FIRST, wrapping.LAST
_LONG = (-(1 << 63), (1 << 63) - 1)
_INSIDE = (_LONG[0] + 1, _LONG[1] - 1)

# The counts that a column of dates, timestamps or durations holds. PostgreSQL's infinities, and
# intervals beyond 64 bits, come as the limits of 64 bits.
HELD: Mapping[Wire, tuple[int, int]] = {
    Wire.DAYS: (-719_162, 2_932_896),
    Wire.MILLIS: (MIN_MICROS // 1000, MAX_MICROS // 1000),
    Wire.MICROS: (MIN_MICROS, MAX_MICROS),
    Wire.NANOS: _INSIDE,
    Wire.DURATION: _INSIDE,
}

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times have no zone
_EPOCH_DATE = date(1970, 1, 1)
_LIMITS = {Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63, Kind.TIME: 63}
_NOT_FINITE = {word: float(word) for word in spelling.NOT_FINITE}
# The bytes of any number of 18 and of 38 digits.
_SHORT, _WIDE = 8, 16

_INTEGER = re.compile(spelling.INTEGER)
_NUMBER = re.compile(spelling.NUMBER)
_ISO = {
    Kind.DATE: re.compile(spelling.ISO_DATE),
    Kind.LOCAL: re.compile(spelling.ISO_LOCAL),
    Kind.INSTANT: re.compile(spelling.ISO_INSTANT),
}
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(.*)")


def decode(value: Any, of: ColumnType) -> object:
    """The Python value: int, bool, float, Decimal, str, bytes, date, datetime; None stays None.

    Local times are naive datetimes, instants aware ones in UTC, times of day microseconds, 32-bit
    floats the double that their shortest text reads as. Raises `UnfitError` where the cell is no
    value of the type, and `UnheldError` where the column cannot hold it.
    """
    if value is None:
        return None
    if of.assumed and modes.is_doubtful(value, of):
        raise UnfitError("written in another way, or maybe so")
    try:
        return _DECODERS[of.wire](value, of)
    except (UnfitError, UnheldError):
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
        raise UnfitError(str(error)) from error


def single(value: float) -> float:
    """The double that the shortest text of a 32-bit float reads as: 0.1, not 0.10000000149….

    What 32 bits cannot hold is infinite.
    """
    rounded = exact(value)
    if not math.isfinite(rounded):
        return rounded
    texts = (float(f"{rounded:.{digits}g}") for digits in range(1, 10))
    return next(shortest for shortest in texts if exact(shortest) == rounded)


def exact(value: float) -> float:
    """The double that a float of 32 bits is, which its shortest text is not: 0.10000000149…."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _matched(pattern: re.Pattern[str], text: str, what: str) -> str:
    if not pattern.fullmatch(text):
        raise UnfitError(f"not {what}")
    return text


def _plain(value: Any, of: ColumnType) -> object:
    limit = _LIMITS.get(of.kind)
    if limit is not None and type(value) is int and -(1 << limit) <= value < 1 << limit:
        return value
    text = value if isinstance(value, str) else spelled(value)
    match of.kind:
        case Kind.BOOLEAN:
            return _boolean(text)
        case Kind.INT16 | Kind.INT32 | Kind.INT64:
            return _integer(text, of.kind)
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(text, of.kind)
        case Kind.DECIMAL:
            return _decimal(text, of)
        case _:
            return text


def _boolean(text: str) -> bool:
    if text not in {"true", "false"}:
        raise UnfitError("not a boolean")
    return text == "true"


def _integer(text: str, kind: Kind) -> int:
    """Numbers, and numbers written as text: some producers quote them."""
    number = int(_matched(_INTEGER, text, "an integer"))
    if not -(1 << _LIMITS[kind]) <= number < 1 << _LIMITS[kind]:
        raise UnfitError(f"out of the range of {kind}")
    return number


def _whole(value: Any, of: ColumnType) -> int:
    number = Decimal(_matched(_NUMBER, spelled(value), "a number"))
    if number != number.to_integral_value():
        raise UnfitError("not a whole number")
    return _integer(str(int(number)), of.kind)


def _floating(text: str, kind: Kind) -> float:
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    number = float(_matched(_NUMBER, text, "a number"))
    number = single(number) if kind is Kind.FLOAT else number
    if math.isinf(number):
        raise UnfitError(f"out of the range of {kind}")
    return number


def _unsigned(value: Any, of: ColumnType) -> Decimal:
    """An unsigned BIGINT: JDBC's 64 bits have a sign, so its upper half comes as negative."""
    if of.assumed and isinstance(value, str) and not _INTEGER.fullmatch(value):
        return _unsigned_precise(value, of)  # digits alone would be a negative number
    number = int(_matched(_INTEGER, spelled(value), "an integer"))
    if not _LONG[0] <= number < 1 << 64:
        raise UnfitError(f"out of the range of {of.spark}")
    return Decimal(number + (1 << 64) if number < 0 else number)


def _unsigned_precise(value: Any, of: ColumnType) -> Decimal:
    number = (
        _unscaled(binary.of_base64(value), 0)
        if isinstance(value, str)
        else _decimal(spelled(value), of)
    )
    if not 0 <= number < 1 << 64:
        raise UnfitError(f"out of the range of {of.spark}")
    return number


def _base64(value: Any, of: ColumnType) -> object:
    """Bytes, and Decimals; these also as bare JSON numbers (`decimal.format=NUMERIC`)."""
    text = spelled(value)
    if of.kind is Kind.BINARY:
        return binary.of_any_base64(value) if of.assumed else binary.of_base64(value)
    if isinstance(value, str) and binary.is_base64(text):
        return _from_bytes(binary.of_base64(text), of)
    if of.kind is Kind.DECIMAL:
        return _decimal(text, of)
    places = max(of.scale, 0)
    return _digits(_padded(Decimal(_matched(_NUMBER, text, "a number")), places))


def _from_bytes(data: bytes, of: ColumnType) -> object:
    if of.kind is not Kind.DECIMAL:
        return _digits(_unscaled(data, of.scale))
    if len(data) > (_SHORT if of.precision <= 18 else _WIDE):
        raise UnfitError(f"does not fit {of.spark}")
    return _fitted(_unscaled(data, of.scale), of)


def _unscaled(data: bytes, scale: int) -> Decimal:
    if not data:
        raise UnfitError("an empty decimal")
    unscaled = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    # From its digits: arithmetic would round to the context's 28.
    return Decimal((unscaled.sign, unscaled.digits, -scale))


def _decimal(text: str, of: ColumnType) -> Decimal:
    if of.wire is Wire.PLAIN and text in spelling.NO_DECIMAL:
        raise UnheldError(f"{of.spark} has no {text}")
    return _fitted(Decimal(_matched(_NUMBER, text, "a number")), of)


def _fitted(number: Decimal, of: ColumnType) -> Decimal:
    """The number at the column's scale; more digits than the column holds are refused."""
    fitted = _padded(number, of.scale)
    if any(fitted.as_tuple().digits[: -of.precision]):
        raise UnfitError(f"does not fit {of.spark}")
    return fitted


def _padded(number: Decimal, scale: int) -> Decimal:
    """The number with that many fraction digits; zero has no sign."""
    sign, digits, exponent = number.as_tuple()
    zeros = int(exponent) + scale
    if zeros < 0:
        raise UnfitError(f"more than {scale} fraction digits")
    return Decimal((sign if any(digits) else 0, (*digits, *[0] * zeros), -scale))


def _digits(number: Decimal) -> str:
    return format(number, "f")


def _variable_scale(value: Any, of: ColumnType) -> str:
    """Exact text without the zeros that end a fraction: equal numbers have one text, as keys."""
    del of
    fields = structured.document(value)
    scale = _integer(spelled(fields["scale"]), Kind.INT32)
    if abs(scale) > MAX_SCALE:
        raise UnfitError("a scale beyond every database")
    text = _digits(_unscaled(binary.of_base64(fields["value"]), scale))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bits(value: Any, of: ColumnType) -> str:
    """Zeros and ones, the highest first; as many as declared, else as many as there are."""
    data = binary.of_base64(value)
    width = of.precision or 8 * len(data)
    number = int.from_bytes(data, "little")
    if number >> width:
        raise UnfitError(f"more than {width} bits")
    return format(number, f"0{width}b") if width else ""


def _days(value: Any, of: ColumnType) -> date:
    return _EPOCH_DATE + timedelta(days=_held(_integer(spelled(value), Kind.INT32), of))


def _duration(value: Any, of: ColumnType) -> int:
    return _held(_integer(spelled(value), Kind.INT64), of)


def _ticks(micros_per_tick: int, ticks_per_micro: int = 1) -> Callable[[Any, ColumnType], object]:
    def decoder(value: Any, of: ColumnType) -> object:
        ticks = _integer(spelled(value), Kind.INT64)
        if of.kind is Kind.TIME:
            return _integer(str(ticks * micros_per_tick // ticks_per_micro), Kind.TIME)
        ticks = _held(ticks, of)
        if of.wire is Wire.NANOS:
            ticks = wrapping.unwrapped(ticks, of.step)
        return _moment(ticks * micros_per_tick // ticks_per_micro, of)

    return decoder


def _held(count: int, of: ColumnType) -> int:
    least, most = HELD[of.wire]
    if not least <= count <= most:
        raise UnheldError(f"{of.spark} does not hold it")
    return count


def _moment(micros: int, of: ColumnType) -> datetime:
    if not MIN_MICROS <= micros <= MAX_MICROS:
        raise UnheldError(f"{of.spark} does not hold it")
    local = _EPOCH + timedelta(microseconds=micros)
    return local.replace(tzinfo=UTC) if of.kind is Kind.INSTANT else local


def _iso(value: Any, of: ColumnType) -> date:
    """A date or time as text; one that no calendar has, or that is infinite, is unheld."""
    text = _matched(_ISO[of.kind], spelled(value), f"an ISO {of.kind}")
    try:
        day = date.fromisoformat(text[:10])
    except ValueError as error:
        raise UnheldError(f"{of.spark} does not hold it") from error
    if of.kind is Kind.DATE:
        return day
    return _moment((day - _EPOCH_DATE).days * 86_400_000_000 + _clock(text[11:]), of)


def _clock(text: str) -> int:
    """Microseconds of a time of day, taken to UTC; digits beyond them are cut."""
    found = re.fullmatch(_CLOCK, text)
    if found is None:
        raise UnfitError("not a time")
    hour, minute, second, fraction, offset = found.groups()
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second) - _offset(offset)
    return seconds * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))


def _offset(text: str) -> int:
    """Seconds east of Greenwich."""
    if text in {"", "Z"}:
        return 0
    parts = [int(part) for part in text[1:].split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -seconds if text.startswith("-") else seconds


def _structured(value: Any, of: ColumnType) -> object:
    match of.wire:
        case Wire.STRUCTURED_OFFSET_TIME:
            return structured.zoned_time(value)
        case Wire.STRUCTURED_DURATION:
            return structured.interval(value)
        case _ if of.kind is Kind.TIME:
            return structured.micros_of_day(value)
        case _:
            return _iso(structured.iso(value, of), of)


def _json(value: Any, of: ColumnType) -> str:
    """An array, map or struct; its text if it is one."""
    del of
    text = spelled(value)
    if not text.startswith(("{", "[")):
        raise UnfitError("not a nested document")
    return text


_DECODERS: dict[Wire, Callable[[Any, ColumnType], object]] = {
    Wire.PLAIN: _plain,
    Wire.WHOLE: _whole,
    Wire.UNSIGNED: _unsigned,
    Wire.UNSIGNED_PRECISE: _unsigned_precise,
    Wire.BASE64: _base64,
    Wire.BASE64_URL: lambda value, _: binary.of_base64_url(value),
    Wire.HEX: lambda value, _: binary.of_hex(value),
    Wire.VARIABLE_SCALE: _variable_scale,
    Wire.BITS: _bits,
    Wire.DAYS: _days,
    Wire.MILLIS: _ticks(1000),
    Wire.MICROS: _ticks(1),
    Wire.NANOS: _ticks(1, 1000),
    Wire.DURATION: _duration,
    Wire.ISO: _iso,
    Wire.STRUCTURED: _structured,
    Wire.STRUCTURED_OFFSET_TIME: _structured,
    Wire.STRUCTURED_DURATION: _structured,
    Wire.JSON: _json,
    Wire.JSON_TEXT: _plain,
}
