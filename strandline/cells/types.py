"""Column types: what a Connect schema says of a column, and what its history column becomes.

A `ColumnType` pairs a *kind* (the type of the history column) with a *wire* form (how JsonConverter
writes such a value). Both engines have one decoder per wire form; nothing else decides a type.
Sources: Kafka Connect's logical types, Debezium's `io.debezium.time.*` and `io.debezium.data.*`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The type of a history column; the value is its Spark name (decimals add precision)."""

    BOOLEAN = "boolean"
    INT16 = "smallint"
    INT32 = "int"
    INT64 = "bigint"
    DECIMAL = "decimal"
    FLOAT = "float"
    DOUBLE = "double"
    TEXT = "string"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"  # microseconds of a day, negative and beyond a day in MySQL; stored as bigint
    LOCAL = "timestamp_ntz"  # date and time without a zone
    INSTANT = "timestamp"  # a point in time, UTC


class Wire(StrEnum):
    """How JsonConverter writes the value."""

    PLAIN = "plain"  # JSON's own form of the kind
    WHOLE = "whole"  # a whole number, maybe as a fraction: 12.0
    UNSIGNED = "unsigned"  # 64 bits without a sign, printed as if they had one
    UNSIGNED_PRECISE = "unsigned_precise"  # the same as a Decimal
    BASE64 = "base64"  # bytes, and Decimal as big-endian two's complement or as a JSON number
    BASE64_URL = "base64_url"  # bytes, with - and _ in place of + and /
    HEX = "hex"  # bytes
    VARIABLE_SCALE = "variable_scale"  # {"scale": int, "value": base64}
    BITS = "bits"  # base64 of little-endian bytes
    DAYS = "days"
    MILLIS = "millis"
    MICROS = "micros"
    NANOS = "nanos"
    DURATION = "duration"  # micro- or nanoseconds as sent; the limits of 64 bits stand for "beyond"
    ISO = "iso"
    STRUCTURED = "structured"  # {"year": int, "month": int, …}
    STRUCTURED_OFFSET_TIME = "structured_offset_time"  # {"hour": int, …, "offsetSeconds": int}
    STRUCTURED_DURATION = "structured_duration"  # {"years": int, "months": int, …}
    JSON = "json"  # a nested document, kept as its text
    JSON_TEXT = "json_text"  # a string that holds a document


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is known of a database's values besides their schema.

    `fraction`: how many digits of a second it keeps at most. `two_printers`: its server prints JSON
    in another way than its connector (`strandline.cells.documents`).
    """

    fraction: int = 9
    two_printers: bool = False


ANY = Dialect()

MAX_PRECISION = 38
MAX_SCALE = 20_000  # PostgreSQL's numeric ends at 16,383; more zeros than that are an attack


@dataclass(frozen=True, slots=True)
class ColumnType:
    """Kind and wire form of a column.

    `precision` counts the digits of a decimal, or the bits of `Wire.BITS` (0: not declared);
    `scale` belongs to decimals only. `step`: counts of time are multiples of it, as many digits as
    the database keeps of a second (0: not known). `assumed`: no schema says how values are written;
    those that may be written in another way than a connector's own are refused
    (`strandline.cells.modes`).
    """

    kind: Kind
    wire: Wire = Wire.PLAIN
    precision: int = 0
    scale: int = 0
    step: int = 0
    assumed: bool = False

    @property
    def spark(self) -> str:
        """The Spark SQL name of the history column's type."""
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        if self.kind is Kind.TIME:
            return "bigint"
        return self.kind.value

    @property
    def is_json(self) -> bool:
        """True where the text is a document, which compares by its value."""
        return self.wire in _DOCUMENTS


_DOCUMENTS = frozenset({Wire.JSON, Wire.JSON_TEXT})
TEXT = ColumnType(Kind.TEXT)
NESTED = ColumnType(Kind.TEXT, Wire.JSON)

_PRIMITIVES = {
    "boolean": ColumnType(Kind.BOOLEAN),
    "int8": ColumnType(Kind.INT16),
    "int16": ColumnType(Kind.INT16),
    "int32": ColumnType(Kind.INT32),
    "int64": ColumnType(Kind.INT64),
    "float": ColumnType(Kind.FLOAT),
    "float32": ColumnType(Kind.FLOAT),
    "double": ColumnType(Kind.DOUBLE),
    "float64": ColumnType(Kind.DOUBLE),
    "string": TEXT,
    "bytes": ColumnType(Kind.BINARY, Wire.BASE64),
    "array": NESTED,
    "map": NESTED,
    "struct": NESTED,
}

_CONNECT = "org.apache.kafka.connect.data."
_TIME = "io.debezium.time."
_DATA = "io.debezium.data."
_DECIMAL = _CONNECT + "Decimal"
_BITS = _DATA + "Bits"
_SEMANTIC = {
    _CONNECT + "Date": ColumnType(Kind.DATE, Wire.DAYS),
    _CONNECT + "Time": ColumnType(Kind.TIME, Wire.MILLIS),
    _CONNECT + "Timestamp": ColumnType(Kind.LOCAL, Wire.MILLIS),
    _TIME + "Date": ColumnType(Kind.DATE, Wire.DAYS),
    _TIME + "Time": ColumnType(Kind.TIME, Wire.MILLIS),
    _TIME + "MicroTime": ColumnType(Kind.TIME, Wire.MICROS),
    _TIME + "NanoTime": ColumnType(Kind.TIME, Wire.NANOS),
    _TIME + "Timestamp": ColumnType(Kind.LOCAL, Wire.MILLIS),
    _TIME + "MicroTimestamp": ColumnType(Kind.LOCAL, Wire.MICROS),
    _TIME + "NanoTimestamp": ColumnType(Kind.LOCAL, Wire.NANOS),
    _TIME + "ZonedTimestamp": ColumnType(Kind.INSTANT, Wire.ISO),
    _TIME + "ZonedTime": TEXT,
    _TIME + "Year": ColumnType(Kind.INT32),
    _TIME + "MicroDuration": ColumnType(Kind.INT64, Wire.DURATION),
    _TIME + "NanoDuration": ColumnType(Kind.INT64, Wire.DURATION),
    _TIME + "Interval": TEXT,
    _TIME + "IsoDate": ColumnType(Kind.DATE, Wire.ISO),
    _TIME + "IsoTime": TEXT,
    _TIME + "IsoTimestamp": ColumnType(Kind.LOCAL, Wire.ISO),
    _TIME + "StructuredDate": ColumnType(Kind.DATE, Wire.STRUCTURED),
    _TIME + "StructuredTime": ColumnType(Kind.TIME, Wire.STRUCTURED),
    _TIME + "StructuredTimestamp": ColumnType(Kind.LOCAL, Wire.STRUCTURED),
    _TIME + "StructuredZonedTimestamp": ColumnType(Kind.INSTANT, Wire.STRUCTURED),
    _TIME + "StructuredZonedTime": ColumnType(Kind.TEXT, Wire.STRUCTURED_OFFSET_TIME),
    _TIME + "StructuredDuration": ColumnType(Kind.TEXT, Wire.STRUCTURED_DURATION),
    _DATA + "VariableScaleDecimal": ColumnType(Kind.TEXT, Wire.VARIABLE_SCALE),
    _DATA + "Json": ColumnType(Kind.TEXT, Wire.JSON_TEXT),
    **dict.fromkeys(
        (_DATA + name for name in ("Enum", "EnumSet", "Xml", "Uuid", "Ltree", "Tsvector")), TEXT
    ),
    **dict.fromkeys(
        (_DATA + name for name in ("FloatVector", "DoubleVector", "SparseDoubleVector")), NESTED
    ),
}
_GEOMETRY = _DATA + "geometry."
_STRUCTURED = _TIME + "Structured"
# Later connectors add precision and column to the name, which keeps Avro's records apart.
_QUALIFIER = re.compile(r"(Precision\d+)?(SourceColumn[0-9a-f]*)?$")
_UNSIGNED = re.compile(r"\b(BIGINT|INT8)( ?\(\d+\))? UNSIGNED\b", re.IGNORECASE)
_SOURCE_TYPE = "__debezium.source.column.type"
FRACTION = "fraction"  # a parameter of our own: how many digits of a second a database keeps
_UNITS = {Wire.MILLIS: 3, Wire.MICROS: 6, Wire.NANOS: 9}
_MAX_BITS = 83_886_080  # of a bit string in PostgreSQL; an unlimited one declares 2^31 - 1


def from_connect(schema: Mapping[str, Any], dialect: Dialect = ANY) -> ColumnType:
    """The type of a field from its Connect schema as JsonConverter embeds it.

    A decimal wider than 38 digits, with a negative scale, or of unknown precision is exact text:
    Spark cannot hold it and a rounded value would be a silent wrong one.
    """
    name, literal = schema.get("name"), str(schema.get("type")).lower()
    parameters = schema.get("parameters")
    declared = parameters if isinstance(parameters, dict) else {}
    if isinstance(name, str):
        semantic = _semantic(name, declared)
        if semantic is not None:
            return _stepped(semantic, declared, dialect)
    if literal == "int64" and _UNSIGNED.search(str(declared.get(_SOURCE_TYPE))):
        return ColumnType(Kind.DECIMAL, Wire.UNSIGNED, 20, 0)
    return _PRIMITIVES.get(literal, TEXT)


def _stepped(of: ColumnType, parameters: Mapping[str, Any], dialect: Dialect) -> ColumnType:
    """A count of time with its step, where the digits of a second's fraction are known."""
    unit, digits = _UNITS.get(of.wire), _number(parameters.get(FRACTION))
    if of.wire is Wire.NANOS and (digits is None or dialect.fraction < 9):
        digits = dialect.fraction  # which holds whatever becomes of the column
    if unit is None or digits is None or not 0 <= digits < unit:
        return of
    return replace(of, step=10 ** (unit - digits))


def is_semantic(name: str) -> bool:
    """True where the name of a schema says what its values mean."""
    return _semantic(name, {}) is not None


def _semantic(name: str, parameters: Mapping[str, Any]) -> ColumnType | None:
    if name == _DECIMAL:
        return _decimal(parameters)
    if name == _BITS:
        bits = _number(parameters.get("length")) or 0
        return ColumnType(Kind.TEXT, Wire.BITS, bits if 0 < bits <= _MAX_BITS else 0)
    if name.startswith(_GEOMETRY):
        return NESTED
    if name.startswith(_STRUCTURED):
        name = _QUALIFIER.sub("", name, count=1)
    return _SEMANTIC.get(name)


def _decimal(parameters: Mapping[str, Any]) -> ColumnType:
    scale = _number(parameters.get("scale"))
    precision = _number(parameters.get("connect.decimal.precision")) or 0
    if scale is None or abs(scale) > MAX_SCALE:
        # The number cannot be known: the bytes stay what they are.
        return ColumnType(Kind.BINARY, Wire.BASE64)
    if 0 <= scale <= precision and 0 < precision <= MAX_PRECISION:
        return ColumnType(Kind.DECIMAL, Wire.BASE64, precision, scale)
    return ColumnType(Kind.TEXT, Wire.BASE64, 0, scale)


def _number(parameter: object) -> int | None:
    """A schema parameter is text; what is no whole number counts as not declared."""
    text = str(parameter)
    return int(text) if re.fullmatch(r"-?[0-9]{1,10}", text) else None
