"""Reads the records that a manifest pins from the landing table."""

from collections.abc import Iterable
from itertools import groupby

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.runs.manifest import OffsetRange
from strandline_spark.shallow import any_of


def records(
    spark: SparkSession, landing: str, version: int, ranges: Iterable[OffsetRange]
) -> DataFrame:
    """The landed records of the ranges, at that version of the table.

    One that Kafka has no time of has the first of all times, as the core reads it.
    """
    table = spark.read.format("delta").option("versionAsOf", version).load(landing)
    timed = F.coalesce("timestamp", F.timestamp_millis(F.lit(0)))
    return table.where(within(ranges)).withColumn("timestamp", timed)


def within(ranges: Iterable[OffsetRange]) -> Column:
    """Whether a record (`topic, topic_id, partition, offset`) lies in one of the ranges."""
    by_topic = groupby(sorted(ranges, key=_topic), _topic)
    return any_of((F.col("topic") == topic) & any_of(map(_inside, of)) for topic, of in by_topic)


def _topic(offsets: OffsetRange) -> str:
    return offsets.topic


def _inside(offsets: OffsetRange) -> Column:
    return (
        (F.col("topic_id") == offsets.topic_id)
        & (F.col("partition") == offsets.partition)
        & (F.col("offset") >= offsets.start)
        & (F.col("offset") < offsets.end)
    )
