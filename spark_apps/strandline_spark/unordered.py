"""Changes that nothing orders, in columns; the twin of `strandline.law.doubts.unordered`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline.changes.position import NO_PARTITION
from strandline.law.doubts.unordered import message
from strandline_spark.distinct import STREAMED, is_placed, major
from strandline_spark.single import single


def unordered(changes: DataFrame) -> str | None:
    """Of a keyless table's distinct changes the first that may stand before or behind another."""
    at = F.max(F.struct(F.col("_offset").alias("offset"), F.col("_partition").alias("partition")))
    lanes = F.count_distinct(F.right("_seq", F.lit(len(NO_PARTITION))))
    told = (
        changes.where(F.col("_op").isin(*STREAMED) & is_placed(F.col("_seq")))
        .groupBy("_key", major(F.col("_seq")))
        .agg(at.alias("at"), lanes.alias("lanes"))
        .where("lanes > 1")
        .agg(F.min("at").alias("at"))
    )
    first = single(told)["at"]
    return None if first is None else message(**first.asDict())
