"""How a connector was set to write values: what records without a schema do not say.

DDL and a source file's `columns` say what a column is. How its values are written is up to the
connector's own settings, which a source file may repeat (`[settings]`). What is not said there is
assumed to be the connector's default, as long as a value does not speak against it: one that is
written in another way, or that may be, is no value of its type, and its record goes to quarantine.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from strandline.cells.types import ANY, ColumnType, Dialect, Kind, Wire, from_connect

BINARY = "binary.handling.mode"
DECIMAL = "decimal.handling.mode"
TIME = "time.precision.mode"
UNSIGNED = "bigint.unsigned.handling.mode"

Modes = Mapping[str, str]
MODES: Mapping[str, tuple[str, ...]] = {
    BINARY: ("bytes", "base64", "base64-url-safe", "hex"),
    DECIMAL: ("precise", "string", "double"),
    TIME: (
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds",
        "nanoseconds", "structured",
    ),
    UNSIGNED: ("long", "precise"),
}  # fmt: skip
NOT_SAID: Modes = MappingProxyType({})

# A parameter of our own: the digits of an integer that the mode of decimals is for.
WHOLE = "whole"
_BINARIES = {"base64-url-safe": Wire.BASE64_URL, "hex": Wire.HEX}
_PACKAGE = "io.debezium.time."
_CONNECT = "org.apache.kafka.connect.data."
# The semantic types that count, without their precision, and their names in each mode that has one
# for all of them. Dates are days except as text or as parts, times with a zone are text.
_COUNTED = {
    f"{_PACKAGE}{unit}{of}": of for unit in ("", "Micro", "Nano") for of in ("Time", "Timestamp")
}
_NAMES = {
    "adaptive_time_microseconds": {"Time": f"{_PACKAGE}MicroTime"},
    "connect": {of: _CONNECT + of for of in ("Date", "Time", "Timestamp")},
    "microseconds": {of: f"{_PACKAGE}Micro{of}" for of in ("Time", "Timestamp")},
    "nanoseconds": {of: f"{_PACKAGE}Nano{of}" for of in ("Time", "Timestamp")},
    "isostring": {of: f"{_PACKAGE}Iso{of}" for of in ("Date", "Time", "Timestamp")},
    "structured": {
        of: f"{_PACKAGE}Structured{of}" for of in ("Date", "Time", "Timestamp", "ZonedTimestamp")
    },
}  # fmt: skip
_EXACT = 15  # digits, which every double holds
_TIMES = frozenset({Wire.DAYS, Wire.MILLIS, Wire.MICROS, Wire.NANOS})


def defined(schema: Mapping[str, Any], modes: Modes, dialect: Dialect = ANY) -> ColumnType:
    """The type of a column that DDL defines, from the schema that it has in the default modes."""
    of = written(from_connect(_timed(schema, modes), dialect), modes)
    if WHOLE in schema.get("parameters", {}):
        return _whole(of, int(schema["parameters"][WHOLE]), modes.get(DECIMAL))
    return replace(of, assumed=TIME not in modes) if of.wire in _TIMES else of


def _timed(schema: Mapping[str, Any], modes: Modes) -> Mapping[str, Any]:
    name = str(schema.get("name"))
    form = _COUNTED.get(name, name.removeprefix(_PACKAGE))
    other = _NAMES.get(modes.get(TIME, ""), {}).get(form)
    return schema if other is None else {**schema, "name": other}


def written(of: ColumnType, modes: Modes) -> ColumnType:
    """A column's type as these modes write its values, from the type in the default modes.

    Whoever names the type of a time says how it is written, too.
    """
    match of.kind, of.wire:
        case Kind.BINARY, Wire.BASE64:
            wire = _BINARIES.get(modes.get(BINARY, ""), of.wire)
            return replace(of, wire=wire, assumed=BINARY not in modes)
        case _, Wire.UNSIGNED:
            precise = modes.get(UNSIGNED) == "precise"
            wire = Wire.UNSIGNED_PRECISE if precise else of.wire
            return replace(of, wire=wire, assumed=UNSIGNED not in modes)
        case ((Kind.DECIMAL | Kind.TEXT), (Wire.BASE64 | Wire.VARIABLE_SCALE)):
            return _decimal(of, modes.get(DECIMAL))
        case _:
            return of


def _decimal(of: ColumnType, mode: str | None) -> ColumnType:
    if mode == "double":  # rounded, so no decimal
        return ColumnType(Kind.DOUBLE)
    return replace(of, wire=Wire.PLAIN if mode == "string" else of.wire, assumed=mode is None)


def _whole(of: ColumnType, digits: int, mode: str | None) -> ColumnType:
    """An integer, as which its text is read, too; a double is one as far as it is exact."""
    if mode == "double":
        return replace(of, wire=Wire.WHOLE) if digits <= _EXACT else ColumnType(Kind.DOUBLE)
    return replace(of, assumed=mode is None)


# ---------------------------------------------------------------- what speaks against a mode

_HEX = re.compile("(?:[0-9a-f]{4})+")  # as connectors write it; zeros are capitals in base64
_DIGITS = re.compile("(?:[0-9]{4})+")
# Days of this century in a unit are seconds or weeks of 1970 in the next finer one.
_CENTURY = range(10**12, 42 * 10**11)
_MOST = {Wire.MILLIS: 253_402_300_799_999, Wire.MICROS: 253_402_300_799_999_999}
_LONGEST = 838 * 3600 + 59 * 60 + 60  # seconds: MySQL's TIME; other databases end with the day
_PER_SECOND = {Wire.MILLIS: 10**3, Wire.MICROS: 10**6, Wire.NANOS: 10**9}


def is_doubtful(value: Any, of: ColumnType) -> bool:
    """Whether a value speaks against the mode that is assumed, or may be of another one."""
    match of.wire:
        case Wire.BASE64 if of.kind is Kind.BINARY:
            return isinstance(value, str) and _HEX.fullmatch(value) is not None
        case Wire.BASE64:  # with fraction digits, text has a point
            return of.scale <= 0 and isinstance(value, str) and bool(_DIGITS.fullmatch(value))
        case wire if wire in _PER_SECOND and type(value) is int:
            return _is_of_another_unit(value, of)
        case _:
            return False


def _is_of_another_unit(count: int, of: ColumnType) -> bool:
    if of.step and count % of.step and of.wire is not Wire.NANOS:  # these may have wrapped
        return True
    if of.kind is Kind.TIME:
        return abs(count) >= _LONGEST * _PER_SECOND[of.wire]
    if count > _MOST.get(of.wire, count):
        return True
    coarser = {Wire.MICROS: (1,), Wire.NANOS: (1, 1000)}.get(of.wire, ())
    return any(count // unit in _CENTURY for unit in coarser)


def remedy(of: ColumnType) -> str:
    """What to do about a value that is none of its type, where a mode may be the reason."""
    setting = _setting(of)
    if setting is None:
        return ""
    if not of.assumed:
        return f" as {setting} in [settings] of the source file has it"
    return (
        f", or may be written in another way than connectors do by default: repeat the connector's "
        f"{setting} in [settings] of the source file"
    )


def _setting(of: ColumnType) -> str | None:
    match of.wire:
        case Wire.HEX | Wire.BASE64_URL:
            return BINARY
        case Wire.UNSIGNED_PRECISE:
            return UNSIGNED
        case _ if not of.assumed:
            return None
        case Wire.UNSIGNED:
            return UNSIGNED
        case Wire.BASE64 if of.kind is Kind.BINARY:
            return BINARY
        case Wire.BASE64 | Wire.VARIABLE_SCALE | Wire.PLAIN:
            return DECIMAL
        case _:
            return TIME
