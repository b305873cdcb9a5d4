"""SQL Server's, Db2's and Oracle's column types, as their connectors describe them to Connect.

Defaults of the connectors (their documentation, "Data type mappings"): decimals precise, times
adaptive.
"""

from collections.abc import Mapping
from typing import Any

from strandline.cells.modes import WHOLE
from strandline.cells.types import FRACTION

_TIME = "io.debezium.time."
_SQL_SERVER: Mapping[str, Mapping[str, Any]] = {
    "bit": {"type": "boolean"},
    "tinyint": {"type": "int16"},
    "smallint": {"type": "int16"},
    "int": {"type": "int32"},
    "bigint": {"type": "int64"},
    "real": {"type": "float"},
    "float": {"type": "double"},
    "date": {"type": "int32", "name": _TIME + "Date"},
    "datetime": {"type": "int64", "name": _TIME + "Timestamp"},
    "smalldatetime": {"type": "int64", "name": _TIME + "Timestamp"},
    "datetimeoffset": {"type": "string", "name": _TIME + "ZonedTimestamp"},
    **{
        name: {"type": "string"}
        for name in ("char", "varchar", "text", "nchar", "nvarchar", "ntext", "xml")
    },
    "uniqueidentifier": {"type": "string"},
    **{
        name: {"type": "bytes"}
        for name in ("binary", "varbinary", "image", "timestamp", "rowversion")
    },
}
_MONEY = {"money": 19, "smallmoney": 10}
_DB2: Mapping[str, Mapping[str, Any]] = {
    "BOOLEAN": {"type": "boolean"},
    "SMALLINT": {"type": "int16"},
    "INTEGER": {"type": "int32"},
    "BIGINT": {"type": "int64"},
    "REAL": {"type": "float"},
    **{name: {"type": "double"} for name in ("DOUBLE", "FLOAT", "DECFLOAT")},
    "DATE": {"type": "int32", "name": _TIME + "Date"},
    **{
        name: {"type": "string"}
        for name in (
            *("CHAR", "VARCHAR", "LONG VARCHAR", "CLOB", "XML"),
            *("GRAPHIC", "VARGRAPHIC", "LONG VARGRAPHIC", "DBCLOB"),
        )
    },
    **{name: {"type": "bytes"} for name in ("BINARY", "VARBINARY", "BLOB")},
}
_BITS = "FOR BIT DATA"  # a text of Db2 that is bytes
_ORACLE: Mapping[str, Mapping[str, Any]] = {
    **{
        name: {"type": "string"}
        for name in ("CHAR", "NCHAR", "VARCHAR", "VARCHAR2", "NVARCHAR2", "CLOB", "NCLOB", "ROWID")
    },
    **{name: {"type": "bytes"} for name in ("BLOB", "RAW")},
    "DATE": {"type": "int64", "name": _TIME + "Timestamp"},
    "BINARY_FLOAT": {"type": "float"},
    "BINARY_DOUBLE": {"type": "double"},
}
_NANOS = 9  # digits: Db2 keeps up to 12, of which Debezium sends these
_SQL_SERVER_FRACTION, _DB2_FRACTION, _ORACLE_FRACTION = (
    7,
    6,
    6,
)  # digits, where a column declares none
_INT8_DIGITS, _INT16_DIGITS, _INT32_DIGITS, _INT64_DIGITS = 2, 4, 9, 18


def sql_server(native: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of a SQL Server column; None where its type is not known."""
    name = str(native.get("typeName") or "").lower().split("(", maxsplit=1)[0]
    base = name.split(" ", maxsplit=1)[0]  # "int identity"
    length, scale = _number(native.get("length")), _number(native.get("scale"))
    if base in {"decimal", "numeric"}:
        return _decimal(length or 18, scale or 0)
    if base in _MONEY:
        return _decimal(_MONEY[base], 4)
    if base == "time":
        return _counted("Time", _SQL_SERVER_FRACTION if scale is None else scale)
    if base == "datetime2":
        return _counted("Timestamp", _SQL_SERVER_FRACTION if scale is None else scale)
    found = _SQL_SERVER.get(base)
    return None if found is None else dict(found)


def db2(native: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of a Db2 column; None where its type is not known."""
    name = str(native.get("typeName") or "").upper()
    base = name.split("(", maxsplit=1)[0].strip()
    length, scale = _number(native.get("length")), _number(native.get("scale"))
    if base in {"DECIMAL", "NUMERIC"}:
        return _decimal(length or 5, scale or 0)
    if base == "TIME":
        return _counted("Time", scale or 0)
    if base.startswith("TIMESTAMP"):
        digits = _DB2_FRACTION if scale is None else min(scale, _NANOS)
        return _timestamp(digits, zoned="TIME ZONE" in name)
    if _BITS in name:
        return {"type": "bytes"}
    found = _DB2.get(base)
    return None if found is None else dict(found)


def oracle(native: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of an Oracle column; None where its type is not known."""
    name = str(native.get("typeName") or "").upper()
    base = name.split("(", maxsplit=1)[0].strip()
    if base in {"NUMBER", "NUMERIC", "DECIMAL"}:
        return _number_type(_number(native.get("length")), _number(native.get("scale")))
    if base == "TIMESTAMP":
        # The digits are the length; Debezium unsets the scale (OracleConnection).
        digits = _number(native.get("length"))
        zoned = "TIME ZONE" in name
        return _timestamp(_ORACLE_FRACTION if digits is None else digits, zoned=zoned)
    if base == "FLOAT":
        return {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}
    found = _ORACLE.get(base)
    return None if found is None else dict(found)


def _number_type(precision: int | None, scale: int | None) -> dict[str, Any]:
    if precision is None or scale is None:
        return {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}
    if scale > 0:
        return _decimal(precision, scale)
    digits = precision - scale
    for limit, of in (
        (_INT8_DIGITS, "int8"),
        (_INT16_DIGITS, "int16"),
        (_INT32_DIGITS, "int32"),
        (_INT64_DIGITS, "int64"),
    ):
        if digits <= limit:
            return {"type": of, "parameters": {WHOLE: str(digits)}}
    return _decimal(precision, scale)


def _timestamp(digits: int, *, zoned: bool) -> dict[str, Any]:
    if zoned:
        return {"type": "string", "name": _TIME + "ZonedTimestamp"}
    return _counted("Timestamp", digits)


def _counted(form: str, digits: int) -> dict[str, Any]:
    """Milliseconds up to 3 fraction digits, microseconds up to 6, else nanoseconds."""
    name = form if digits <= 3 else f"Micro{form}" if digits <= 6 else f"Nano{form}"
    return {"type": "int64", "name": _TIME + name, "parameters": {FRACTION: str(digits)}}


def _decimal(precision: int, scale: int) -> dict[str, Any]:
    return {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
    }


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
