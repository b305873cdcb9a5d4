"""What runs left behind that failed on a table: rows that no version of its history follows from.

A failed run has put its changes on record, and its records are read again by the next one. What a
history has `applied` is told by one number, so nothing of a failed run may be there any more when
a later one commits. A process of a failed run that lives on and stores only now is not looked for:
its changes are second deliveries.
"""

from collections.abc import Collection

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, Work
from strandline_spark import delta, landing
from strandline_spark.shallow import any_of


def is_there(spark: SparkSession, lake: SourceLake, table: str, applied: int) -> bool:
    """Whether a run may have put changes of the table on record since the last one it `applied`.

    That may be this very run, in an attempt before. Told by the log alone, before the run itself
    puts something on record.
    """
    return delta.latest(spark, lake.changes(table)) > applied


def forget(spark: SparkSession, lake: SourceLake, table: str, *, applied: int, run: int) -> None:
    """Deletes the changes of the runs between; doing it again finds nothing."""
    between = (F.col("_run") > applied) & (F.col("_run") < run)
    DeltaTable.forPath(spark, lake.changes(table)).delete(between)


def forget_before(spark: SparkSession, lake: SourceLake, table: str, run: int) -> None:
    """The same, where there are any, before an order reads the changes or writes the history."""
    applied = delta.applied(spark, lake.history(table))
    if applied < run and is_there(spark, lake, table, applied):
        forget(spark, lake, table, applied=applied, run=run)


def forget_refusals(
    spark: SparkSession, lake: SourceLake, manifest: Manifest, refused: Collection[str]
) -> None:
    """Deletes what earlier runs put into quarantine of the records that this compaction reads.

    `refused` are the tables of which records lie there. What a compaction reads nobody has applied,
    so such a run has failed on the table.
    """
    suspected = [cut for cut in manifest.tables if cut.table in refused and cut.ranges]
    if manifest.work is not Work.COMPACT or not suspected:
        return
    own = any_of(landing.within(cut.ranges) & (F.col("table") == cut.table) for cut in suspected)
    again = (F.col("run") < manifest.number) & own
    if not delta.read(spark, lake.quarantine).where(again).isEmpty():
        DeltaTable.forPath(spark, lake.quarantine).delete(again)
