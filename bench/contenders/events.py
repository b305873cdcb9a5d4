"""What a hand-written Spark job makes of landed Debezium records: typed columns of few fields."""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.cases.case import Case
from bench.cases.columns import COLUMNS, KEY

NAMES = [column.name for column in COLUMNS]


def changes(spark: SparkSession, case: Case, table: str, batch: int) -> DataFrame:
    """The changes of a batch: the row's columns, `op`, `lsn` and `at` (the commit's time).

    One narrow `from_json` per record, which names the fields that are used and nothing else.
    """
    records = landed(spark, case, table, batch).where(F.col("value").isNotNull())
    parsed = F.from_json(F.col("value").cast("string"), schema(wrapped=case.shape.schemas))
    event = F.col("event.payload") if case.shape.schemas else F.col("event")
    return records.select(parsed.alias("event")).select(
        F.coalesce(event["after"][KEY], event["before"][KEY]).alias(KEY),
        *(event["after"][name].alias(name) for name in NAMES if name != KEY),
        event["op"].alias("op"),
        event["source"]["lsn"].alias("lsn"),
        F.timestamp_micros(event["source"]["ts_us"]).alias("at"),
    )


def landed(spark: SparkSession, case: Case, table: str, batch: int) -> DataFrame:
    """The landed records of a batch."""
    ranges = (
        (F.col("partition") == each.partition)
        & (F.col("offset") >= each.start)
        & (F.col("offset") < each.end)
        & (F.col("topic") == each.topic)
        for each in case.ranges(table, batch)
    )
    every = spark.read.format("delta").option("versionAsOf", case.versions[batch])
    return every.load(str(case.landing)).where(reduce(lambda a, b: a | b, ranges))


def schema(*, wrapped: bool) -> str:
    """The type of what is used of an envelope; `wrapped` where its schema is embedded."""
    row = ", ".join(f"{column.name}: {column.sql}" for column in COLUMNS)
    envelope = (
        f"before: STRUCT<{KEY}: BIGINT>, after: STRUCT<{row}>, op: STRING, "
        "source: STRUCT<lsn: BIGINT, ts_us: BIGINT>"
    )
    return f"STRUCT<payload: STRUCT<{envelope}>>" if wrapped else f"STRUCT<{envelope}>"
