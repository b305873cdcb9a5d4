"""MySQL's column types as Debezium's MySQL and MariaDB connectors describe them to Connect.

Defaults of the connectors (their documentation, "Data type mappings"): decimals precise, times
adaptive in microseconds, BIGINT UNSIGNED as int64, binary as bytes.
"""

from collections.abc import Mapping
from typing import Any

from strandline.cells.types import FRACTION

_TIME, _DATA = "io.debezium.time.", "io.debezium.data."
_INTEGERS = {  # signed, and unsigned
    "TINYINT": ("int16", "int16"),
    "SMALLINT": ("int16", "int32"),
    "MEDIUMINT": ("int32", "int32"),
    "INT": ("int32", "int64"),
    "INTEGER": ("int32", "int64"),
    "BIGINT": ("int64", "int64"),
}
_SYNONYMS = {  # MySQL's reference manual, "Using Data Types from Other Database Engines"
    "INT1": "TINYINT",
    "INT2": "SMALLINT",
    "INT3": "MEDIUMINT",
    "MIDDLEINT": "MEDIUMINT",
    "INT4": "INT",
    "INT8": "BIGINT",
}
_TEXTS = ("CHAR", "VARCHAR", "NCHAR", "NVARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT")
_BINARIES = ("BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB")
_GEOMETRIES = (
    "GEOMETRY", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
)  # fmt: skip
_FIXED: dict[str, dict[str, Any]] = {
    **{name: {"type": "bytes"} for name in _BINARIES},
    **{name: {"type": "struct", "name": _DATA + "geometry.Geometry"} for name in _GEOMETRIES},
    "BOOLEAN": {"type": "boolean"},
    "BOOL": {"type": "boolean"},
    "DOUBLE": {"type": "double"},
    "REAL": {"type": "double"},
    "DATE": {"type": "int32", "name": _TIME + "Date"},
    "TIMESTAMP": {"type": "string", "name": _TIME + "ZonedTimestamp"},
    "YEAR": {"type": "int32", "name": _TIME + "Year"},
    "JSON": {"type": "string", "name": _DATA + "Json"},
    "ENUM": {"type": "string", "name": _DATA + "Enum"},
    "SET": {"type": "string", "name": _DATA + "EnumSet"},
    "POINT": {"type": "struct", "name": _DATA + "geometry.Point"},
    "UUID": {"type": "string"},
}
_MILLIS_DIGITS = 3  # a DATETIME of up to 3 fraction digits comes in milliseconds
_FLOAT_DIGITS = 24  # FLOAT(p) up to here is of single precision


def connect_schema(native: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of a column of the relational model; None where its type is not known."""
    name = str(native.get("typeName") or "").upper().strip()
    base = name.split("(", maxsplit=1)[0].split(" ", maxsplit=1)[0]
    base = _SYNONYMS.get(base, base)
    if base in _INTEGERS:
        return _integer(base, unsigned="UNSIGNED" in name)
    return _sized(base, native) or _FIXED.get(base)


def _integer(base: str, *, unsigned: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _INTEGERS[base][unsigned]}
    if base == "BIGINT" and unsigned:
        schema["parameters"] = {"__debezium.source.column.type": "BIGINT UNSIGNED"}
    return schema


def _sized(base: str, native: Mapping[str, Any]) -> dict[str, Any] | None:
    """The types whose form depends on length, scale or character set."""
    length = _number(native.get("length"))
    match base:
        case "DECIMAL" | "NUMERIC" | "DEC" | "FIXED":
            return _decimal(length or 10, _number(native.get("scale")) or 0)
        case "FLOAT":
            return {"type": "float" if (length or 0) <= _FLOAT_DIGITS else "double"}
        case "BIT":
            return _bits(length or 1)
        case "DATETIME":
            form = "Timestamp" if (length or 0) <= _MILLIS_DIGITS else "MicroTimestamp"
            return _fraction({"type": "int64", "name": _TIME + form}, length)
        case "TIME":
            return _fraction({"type": "int64", "name": _TIME + "MicroTime"}, length)
        case _ if base in _TEXTS:
            binary = str(native.get("charsetName") or "").lower() == "binary"
            return {"type": "bytes" if binary else "string"}
        case _:
            return None


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    return {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
    }


def _bits(length: int) -> dict[str, Any]:
    if length == 1:
        return {"type": "boolean"}
    return {"type": "bytes", "name": _DATA + "Bits", "parameters": {"length": str(length)}}


def _fraction(schema: dict[str, Any], digits: int | None) -> dict[str, Any]:
    return {**schema, "parameters": {FRACTION: str(digits or 0)}}


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
