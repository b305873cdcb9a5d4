"""The records that a run reads: those that landed, and where all are read anew those on record."""

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.alone.stores import landing as stored
from strandline.changes.record import Record
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.reconciliation import TOPIC
from strandline_spark import delta, landing
from strandline_spark.spread.rows import PLACE, RECORD

ROW = pa.schema([*RECORD, ("run", pa.int32())])


def landed(spark: SparkSession, manifest: Manifest, ranges: Iterable[OffsetRange]) -> DataFrame:
    """What landed in these ranges, as the run's."""
    path = SourceLake(manifest.lake, manifest.source).landing
    rows = landing.records(spark, path, manifest.landing_version, ranges)
    return of_run(rows, manifest.number)


def landed_before(spark: SparkSession, manifest: Manifest, cut: TableCut, run: int) -> DataFrame:
    """What landed for a table of the release before outside of the run's own ranges.

    As that of another run. `Terminal` where landing no longer has all records of its changes.
    """
    lake = SourceLake(manifest.lake, manifest.source)
    table = delta.read(spark, lake.landing, manifest.landing_version)
    rows = table.where((F.col("topic") == cut.topic) & ~landing.within(cut.ranges))
    _refuse_loss(rows, lake, cut)
    return of_run(rows, run)


def refuse_loss(rows: DataFrame, manifest: Manifest, cut: TableCut) -> None:
    """`Terminal` where these lack a record of the changes that the release before has made."""
    _refuse_loss(rows, SourceLake(manifest.lake, manifest.source), cut)


def _refuse_loss(rows: DataFrame, lake: SourceLake, cut: TableCut) -> None:
    spark = rows.sparkSession
    if delta.exists(spark, lake.changes(cut.table)):
        applied = delta.applied(spark, lake.history(cut.table))
        changes = delta.read(spark, lake.changes(cut.table)).where(F.col("_run") <= applied)
        landed_ones = changes.where(F.col("_topic_id") != TOPIC)
        places = landed_ones.select(*(F.col(f"_{name}").alias(name) for name in PLACE)).distinct()
        lost = places.join(rows.select(*PLACE), list(PLACE), "left_anti").count()
        if lost:
            raise Terminal(
                f"{cut.topic}: {lost} changes of the table, which a release before has made, are "
                "of records that landing no longer has: let the connector take a new snapshot of "
                "the table into a topic of its own (docs/operations.md)"
            )


def made(spark: SparkSession, records: Iterable[Record], run: int) -> DataFrame:
    """Records that are at hand, as those of a run."""
    cells = [
        {**stored.cells(record), "headers": list(record.headers), "run": run} for record in records
    ]
    return spark.createDataFrame(cells, from_arrow_schema(ROW))


def of_run(rows: DataFrame, run: int) -> DataFrame:
    """Rows of records as those that a run has brought."""
    return rows.select(*RECORD.names, F.lit(run).cast("int").alias("run"))


def without(rows: DataFrame, others: DataFrame) -> DataFrame:
    """The rows that lie where none of the others does."""
    return rows.join(others.select(*PLACE), list(PLACE), "left_anti")
