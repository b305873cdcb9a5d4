"""What values say of columns that nobody declared; the twin of `strandline.inference`."""

from collections.abc import Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    StructType,
)

from strandline import inference
from strandline.errors import Terminal
from strandline.types import TEXT, ColumnType

_LONG_DIGITS = 19  # a decimal without fraction and shorter than that was written as 1.0
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)


def shown(records: DataFrame, documents: Mapping[str, Column]) -> dict[str, dict[str, ColumnType]]:
    """The column types that JSON objects, as variants, show for each name.

    A column that was null in every record is missing: nothing is known of it.
    """
    schemas = records.agg(
        *(F.schema_of_variant_agg(document).alias(name) for name, document in documents.items())
    ).first()
    return {name: dict(_columns(schemas[name])) for name in documents}


def _columns(schema: str | None) -> Iterator[tuple[str, ColumnType]]:
    parsed = None if schema is None else DataType.fromDDL(schema.replace("OBJECT<", "STRUCT<"))
    for field in parsed.fields if isinstance(parsed, StructType) else ():
        of = _type(field.name, _unwrapped(field.dataType))
        if of is not None:
            yield field.name, of


def _unwrapped(of: DataType) -> DataType:
    """The value's type of a wrapped cell, `{"value": …, "set": …}`."""
    if isinstance(of, StructType) and "value" in of.names and set(of.names) <= {"value", "set"}:
        return of["value"].dataType
    return of


def _type(column: str, of: DataType) -> ColumnType | None:
    match of:
        case NullType():
            return None
        case BooleanType():
            return inference.BOOLEAN
        case StringType():
            return TEXT
        case StructType() | ArrayType():
            return inference.NESTED
        case DecimalType() if of.scale == 0 and of.precision >= _LONG_DIGITS:
            return inference.LONG_INTEGER
        case DecimalType() | DoubleType() | FloatType():
            return inference.FRACTION
        case _ if isinstance(of, _INTEGERS):
            return inference.INTEGER
        case _:
            raise Terminal(
                f"column '{column}' holds JSON values of different kinds: declare its type in the "
                "table's 'columns'"
            )
