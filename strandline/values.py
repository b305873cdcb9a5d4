"""JSON values to Python values, one decoder per wire form (see `strandline.types`).

The Spark twin is `strandline_spark.values`; both hold the same table of wire forms.
"""

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from strandline.types import ColumnType, Kind, Wire

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times have no zone
_EPOCH_DATE = date(1970, 1, 1)
_LIMITS = {Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63, Kind.TIME: 63}
_SPECIAL = {"NaN", "Infinity", "-Infinity"}


class UnfitError(ValueError):
    """The value is not one of its column's type."""


class UnheldError(ValueError):
    """A genuine value of the column's source type that the column's type cannot hold."""


def decode(value: Any, of: ColumnType) -> object:
    """The Python value: int, bool, float, Decimal, str, bytes, date, datetime; None stays None.

    Local times are naive datetimes, instants aware ones in UTC, times of day microseconds.
    Raises `UnfitError` where the value cannot be one of that type, never returns an altered one.
    """
    if value is None:
        return None
    try:
        return _DECODERS[of.wire](value, of)
    except UnfitError:
        raise
    except (ValueError, TypeError, ArithmeticError, OverflowError) as error:
        raise UnfitError(str(error)) from error


def _plain(value: Any, of: ColumnType) -> object:
    match of.kind:
        case Kind.BOOLEAN:
            return _boolean(value)
        case Kind.INT16 | Kind.INT32 | Kind.INT64:
            return _integer(value, of.kind)
        case Kind.FLOAT | Kind.DOUBLE:
            return _floating(value)
        case Kind.DECIMAL:
            return _fitted(Decimal(str(value)), of)
        case _:
            return _text(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in {"true", "false"}:
        return bool(value == "true")
    raise UnfitError("not a boolean")


def _integer(value: Any, kind: Kind) -> int:
    """Numbers, and numbers written as text: some producers quote them (debezium-facts §0)."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UnfitError("not an integer")
    number = int(value)
    if not -(1 << _LIMITS[kind]) <= number < 1 << _LIMITS[kind]:
        raise UnfitError(f"out of the range of {kind}")
    return number


def _floating(value: Any) -> float:
    if isinstance(value, bool) or (isinstance(value, str) and value not in _SPECIAL):
        raise UnfitError("not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UnfitError("not a string")
    return value


def _base64(value: Any, of: ColumnType) -> object:
    try:
        data = base64.b64decode(_text(value), validate=True)
    except binascii.Error as error:
        raise UnfitError("not base64") from error
    if of.kind is Kind.BINARY:
        return data
    if not data:
        raise UnfitError("an empty decimal")
    unscaled = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    # From its digits: arithmetic would round to the context's 28.
    number = Decimal((unscaled.sign, unscaled.digits, -of.scale))
    return _fitted(number, of) if of.kind is Kind.DECIMAL else format(number, "f")


def _fitted(number: Decimal, of: ColumnType) -> Decimal:
    """The number at the column's scale; more digits than the column holds are refused."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or exponent < -of.scale:
        raise UnfitError(f"does not fit {of.spark}")
    if len(digits) + exponent > of.precision - of.scale and any(digits):
        raise UnfitError(f"does not fit {of.spark}")
    return Decimal((sign, (*digits, *[0] * (exponent + of.scale)), -of.scale))


def _variable_scale(value: Any, of: ColumnType) -> object:
    if not isinstance(value, dict):
        raise UnfitError("not a VariableScaleDecimal")
    scale = _integer(value["scale"], Kind.INT32)
    return _base64(value["value"], ColumnType(of.kind, Wire.BASE64, of.precision, scale))


def _days(value: Any, of: ColumnType) -> date:
    del of
    return _EPOCH_DATE + timedelta(days=_integer(value, Kind.INT32))


def _ticks(micros_per_tick: int, ticks_per_micro: int = 1) -> Callable[[Any, ColumnType], object]:
    def decoder(value: Any, of: ColumnType) -> object:
        micros = _integer(value, Kind.INT64) * micros_per_tick // ticks_per_micro
        if of.kind is Kind.TIME:
            return micros
        return _EPOCH + timedelta(microseconds=micros)

    return decoder


def _iso(value: Any, of: ColumnType) -> object:
    text = _text(value)
    if of.kind is Kind.DATE:
        return date.fromisoformat(text.removesuffix("Z"))
    moment = datetime.fromisoformat(text)
    if of.kind is Kind.LOCAL:
        return moment.replace(tzinfo=None)
    if moment.tzinfo is None:
        raise UnfitError("an instant without a zone")
    return moment.astimezone(UTC)


def _json(value: Any, of: ColumnType) -> str:
    del of
    return value if isinstance(value, str) else compact(value)


def compact(value: Any) -> str:
    """A nested document as JSON text without white space; numbers keep their digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact(k)}:{compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def quote(text: str) -> str:
    """A JSON string as Jackson writes it: control characters in upper-case hex, little else."""
    return '"' + "".join(_ESCAPES.get(char, char) for char in text) + '"'


_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(32)} | {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}

_DECODERS: dict[Wire, Callable[[Any, ColumnType], object]] = {
    Wire.PLAIN: _plain,
    Wire.BASE64: _base64,
    Wire.VARIABLE_SCALE: _variable_scale,
    Wire.DAYS: _days,
    Wire.MILLIS: _ticks(1000),
    Wire.MICROS: _ticks(1),
    Wire.NANOS: _ticks(1, 1000),
    Wire.ISO: _iso,
    Wire.JSON: _json,
}
