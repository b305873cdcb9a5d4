"""Reads the records that a manifest pins from the landing table."""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.manifest import OffsetRange


def records(
    spark: SparkSession, landing: str, version: int, ranges: Iterable[OffsetRange]
) -> DataFrame:
    """The landed records of the ranges, at that version of the table."""
    table = spark.read.format("delta").option("versionAsOf", version).load(landing)
    return table.where(reduce(lambda a, b: a | b, map(_inside, ranges), F.lit(False)))


def _inside(offsets: OffsetRange) -> Column:
    return (
        (F.col("topic") == offsets.topic)
        & (F.col("topic_id") == offsets.topic_id)
        & (F.col("partition") == offsets.partition)
        & (F.col("offset") >= offsets.start)
        & (F.col("offset") < offsets.end)
    )
