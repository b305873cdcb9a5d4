"""Windows over the rows of one key."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from strandline_spark.changes import quoted


def hashed(rows: DataFrame) -> DataFrame:
    """Rows with `_hash`, which windows over keys go by.

    A key's text begins like those of all others of its table, and rows are sorted by how they
    begin: a number made of the key goes before it, so that few texts have to be compared. It is a
    column because Spark would name an expression anew for each window, and sort for each.
    """
    return rows.withColumn("_hash", F.xxhash64("_key"))


def of_key(*names: str | Column) -> WindowSpec:
    """The rows of a key, or those of them that agree in further columns; in no order.

    Expects `hashed` rows.
    """
    return Window.partitionBy("_hash", "_key", *names)


def packed(rows: DataFrame, value: str, names: Sequence[str]) -> DataFrame:
    """Rows with these columns as one value, for windows that do not look at them.

    A window copies its rows column by column, and each of its tasks has Spark write code that does
    so. Whoever packs columns asks for all of them in the end: Spark would take single ones out
    again, and carry these.
    """
    others = (quoted(name) for name in rows.columns if name not in set(names))
    return rows.select(*others, F.struct(*map(quoted, names)).alias(value))
