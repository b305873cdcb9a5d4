"""What values say of columns that nobody declared; the twin of `strandline.cells.inference`."""

from collections.abc import Collection, Iterator, Sequence

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

from strandline.cells import inference
from strandline.cells.types import TEXT, ColumnType
from strandline.errors import Terminal
from strandline_spark import values
from strandline_spark.changes import quoted
from strandline_spark.single import single

_LONG_DIGITS = 19  # a decimal without fraction and shorter than that was written as 1.0
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)


def shown(
    records: DataFrame, documents: Sequence[tuple[Column, Column]], names: Collection[str]
) -> list[dict[str, ColumnType]]:
    """The types of these columns that each of the JSON objects, as variant and text, shows.

    A column that was null in every record is missing: nothing is known of it.
    """
    variants, texts = zip(*documents, strict=True)
    schemas = records.agg(
        *(F.schema_of_variant_agg(of).alias(f"_{n}") for n, of in enumerate(variants))
    )
    found = [dict(_columns(schema, names)) for schema in single(schemas)]
    return _with_fractions(records, texts, found)


def _with_fractions(
    records: DataFrame, texts: Sequence[Column], found: Sequence[dict[str, ColumnType]]
) -> list[dict[str, ColumnType]]:
    """The same types; a fraction where one made a long integer of what may have been integers.

    Variants forget the zero of 1.0, so that with integers it looks like a longer one of them. Only
    the texts tell, and they are asked only where a type is in doubt.
    """
    doubt = [
        (at, name)
        for at, types in enumerate(found)
        for name, of in types.items()
        if of == inference.LONG_INTEGER
    ]
    if not doubt:
        return list(found)
    told = records.agg(
        *(
            F.bool_or(values.has_fraction(_cell(texts[at], name))).alias(f"_{n}")
            for n, (at, name) in enumerate(doubt)
        )
    )
    fractions = [place for place, is_one in zip(doubt, single(told), strict=True) if is_one]
    return [
        {n: inference.FRACTION if (at, n) in fractions else of for n, of in types.items()}
        for at, types in enumerate(found)
    ]


def _cell(document: Column, name: str) -> Column:
    return F.from_json(document, f"{quoted(name)} STRING").getField(name)


def _columns(schema: str | None, names: Collection[str]) -> Iterator[tuple[str, ColumnType]]:
    parsed = None if schema is None else DataType.fromDDL(schema.replace("OBJECT<", "STRUCT<"))
    for field in parsed.fields if isinstance(parsed, StructType) else ():
        of = _type(field.name, _unwrapped(field.dataType)) if field.name in names else None
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
