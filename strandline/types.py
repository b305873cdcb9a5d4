"""Column types: what a Connect schema says of a column, and what its history column becomes.

A `ColumnType` pairs a *kind* (the type of the history column) with a *wire* form (how JsonConverter
writes such a value). Both engines have one decoder per wire form; nothing else decides a type.
Sources: Kafka Connect's logical types, Debezium's `io.debezium.time.*` and `io.debezium.data.*`.
"""

from dataclasses import dataclass
from enum import StrEnum


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
    TIME = "time"  # microseconds of a day or a duration, stored as bigint
    LOCAL = "timestamp_ntz"  # date and time without a zone
    INSTANT = "timestamp"  # a point in time, UTC


class Wire(StrEnum):
    """How JsonConverter writes the value."""

    PLAIN = "plain"  # JSON's own form of the kind
    BASE64 = "base64"  # bytes, and Decimal as big-endian two's complement
    VARIABLE_SCALE = "variable_scale"  # {"scale": int, "value": base64}
    DAYS = "days"
    MILLIS = "millis"
    MICROS = "micros"
    NANOS = "nanos"
    ISO = "iso"
    JSON = "json"  # a nested document, kept as its text


MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class ColumnType:
    """Kind and wire form of a column; `precision` and `scale` only for decimals."""

    kind: Kind
    wire: Wire = Wire.PLAIN
    precision: int = 0
    scale: int = 0

    @property
    def spark(self) -> str:
        """The Spark SQL name of the history column's type."""
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        if self.kind is Kind.TIME:
            return "bigint"
        return self.kind.value


TEXT = ColumnType(Kind.TEXT)

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
    "array": ColumnType(Kind.TEXT, Wire.JSON),
    "map": ColumnType(Kind.TEXT, Wire.JSON),
    "struct": ColumnType(Kind.TEXT, Wire.JSON),
}

_SEMANTIC = {
    "org.apache.kafka.connect.data.Date": ColumnType(Kind.DATE, Wire.DAYS),
    "org.apache.kafka.connect.data.Time": ColumnType(Kind.TIME, Wire.MILLIS),
    "org.apache.kafka.connect.data.Timestamp": ColumnType(Kind.LOCAL, Wire.MILLIS),
    "io.debezium.time.Date": ColumnType(Kind.DATE, Wire.DAYS),
    "io.debezium.time.Time": ColumnType(Kind.TIME, Wire.MILLIS),
    "io.debezium.time.MicroTime": ColumnType(Kind.TIME, Wire.MICROS),
    "io.debezium.time.NanoTime": ColumnType(Kind.TIME, Wire.NANOS),
    "io.debezium.time.Timestamp": ColumnType(Kind.LOCAL, Wire.MILLIS),
    "io.debezium.time.MicroTimestamp": ColumnType(Kind.LOCAL, Wire.MICROS),
    "io.debezium.time.NanoTimestamp": ColumnType(Kind.LOCAL, Wire.NANOS),
    "io.debezium.time.ZonedTimestamp": ColumnType(Kind.INSTANT, Wire.ISO),
    "io.debezium.data.VariableScaleDecimal": ColumnType(Kind.TEXT, Wire.VARIABLE_SCALE),
}


def from_connect(schema: dict[str, object]) -> ColumnType:
    """The type of a field from its Connect schema as JsonConverter embeds it.

    A decimal wider than 38 digits, or one whose precision is not declared, is exact text: Spark
    cannot hold it and a rounded value would be a silent wrong one.
    """
    name = schema.get("name")
    if name == "org.apache.kafka.connect.data.Decimal":
        return _decimal(schema.get("parameters") or {})
    if isinstance(name, str) and name in _SEMANTIC:
        return _SEMANTIC[name]
    return _PRIMITIVES.get(str(schema.get("type")), TEXT)


def _decimal(parameters: object) -> ColumnType:
    declared = parameters if isinstance(parameters, dict) else {}
    scale = int(declared.get("scale", 0))
    precision = int(declared.get("connect.decimal.precision", 0))
    if 0 <= scale <= precision and 0 < precision <= MAX_PRECISION:
        return ColumnType(Kind.DECIMAL, Wire.BASE64, precision, scale)
    return ColumnType(Kind.TEXT, Wire.BASE64, 0, scale)
