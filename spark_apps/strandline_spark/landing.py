"""Reads the records that a manifest pins from the landing table."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from itertools import groupby

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.runs.manifest import OffsetRange
from strandline_spark import settings
from strandline_spark.shallow import any_of

_TASKS = "spark.sql.files.minPartitionNum"
_PER_CORE = 2  # some tasks get a file with no wanted offset, and have nothing to do
_OPENING = "spark.sql.files.openCostInBytes"
_NO_COST = str(64 << 10)  # beside what records of so many bytes take


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


def spread(spark: SparkSession) -> AbstractContextManager[None]:
    """Inside, every core decodes, of however few bytes, unless the session says how many tasks.

    By itself Spark has one task read up to 4 MB, to open a file being as much work as that. So many
    bytes of landed records, which are compressed JSON, are seconds of work.
    """
    if spark.conf.get(_TASKS, None) is not None:
        return settings.during(spark, {})
    tasks = _PER_CORE * spark.sparkContext.defaultParallelism
    return settings.during(spark, {_TASKS: str(tasks), _OPENING: _NO_COST})


def _topic(offsets: OffsetRange) -> str:
    return offsets.topic


def _inside(offsets: OffsetRange) -> Column:
    return (
        (F.col("topic_id") == offsets.topic_id)
        & (F.col("partition") == offsets.partition)
        & (F.col("offset") >= offsets.start)
        & (F.col("offset") < offsets.end)
    )
