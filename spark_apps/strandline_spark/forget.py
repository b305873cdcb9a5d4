"""What a source's policy no longer keeps, deleted. Doing it again finds nothing more."""

from dataclasses import replace

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.upkeep import VERSIONS
from strandline_spark import delta, landing, noted

_RECORD = ("topic_id", "partition", "offset")
_DELIVERY = ("_topic_id", "_partition", "_offset")


def versions(spark: SparkSession, manifest: Manifest, cut: TableCut, before: str) -> int:
    """Deletes versions that ended before; the last one of a key stays, whether it lives or not.

    It remembers what was deleted: without it an older record that comes late would bring the row
    back. The totals that the next run goes on from are part of the commit, and up to when versions
    are forgotten, for a run that makes all of them again.
    """
    lake, run = SourceLake(manifest.lake, manifest.source), manifest.number
    path = lake.history(cut.table)
    if delta.applied(spark, path) >= run:
        done = noted.of_run(spark, path, run)
        return done.receipt.did.get(VERSIONS, 0) if done else 0
    old = ~F.col("_is_head") & (F.col("_valid_to") < F.lit(before).cast("timestamp"))
    gone = delta.read(spark, path).where(old).count()
    if gone:
        known = noted.last(spark, lake, cut)
        counts = known.receipt.counts
        counts = replace(counts, history_rows=counts.history_rows - gone)
        receipt = replace(known.receipt, counts=counts, did={VERSIONS: gone})
        with delta.fenced(spark, run, replace(known, receipt=receipt, forgotten=before).text()):
            DeltaTable.forPath(spark, path).delete(old)
    return gone


def changes(spark: SparkSession, manifest: Manifest, cut: TableCut, before: str) -> int:
    """Deletes updates that no version needs any more, now or when it is made again.

    That is updates of a key before the newest whole image which is not after the oldest of its
    versions still wanted. What begins or ends a row stays, and so do keys that ever moved:
    `_entity_id` and lives hang on them.
    """
    lake = SourceLake(manifest.lake, manifest.source)
    path = lake.changes(cut.table)
    stored = delta.read(spark, path)
    moment = F.lit(before).cast("timestamp")
    old = stored.where((F.col("_kind") == "row") & (F.col("_time") < moment))
    wanted = F.col("_valid_to").isNull() | (F.col("_valid_to") >= moment)
    history = delta.read(spark, lake.history(cut.table)).where(wanted)
    oldest = history.groupBy("_key").agg(F.min("_seq_from").alias("_oldest"))
    needed = _whole() & (F.col("_seq") <= F.col("_oldest"))
    bases = old.join(oldest, "_key").groupBy("_key")
    base = bases.agg(F.max(F.when(needed, F.col("_seq"))).alias("_base"))
    for moved in _moved(stored, lake.moves(cut.table)):
        base = base.join(moved, "_key", "left_anti")
    gone = (
        old.where(F.col("_op") == Op.UPDATE.value)
        .join(base, "_key")
        .where(F.col("_seq") < F.col("_base"))
    )
    return delta.remove(spark, path, gone.select(*_DELIVERY), F.col("t._kind") == "row")


def records(spark: SparkSession, manifest: Manifest, before: str) -> int:
    """Deletes records that were landed before that day and are applied, but for those refused.

    What lies in quarantine is read again from landing one day.
    """
    lake = SourceLake(manifest.lake, manifest.source)
    ranges = [*manifest.control, *(each for cut in manifest.tables for each in cut.ranges)]
    day = F.lit(before).cast("date")
    landed = landing.records(spark, lake.landing, manifest.landing_version, ranges)
    refused = delta.read(spark, lake.quarantine).select(*_RECORD)
    gone = landed.where(F.col("landed_date") < day).join(refused, list(_RECORD), "left_anti")
    return delta.remove(spark, lake.landing, gone.select(*_RECORD), F.col("t.landed_date") < day)


def _whole() -> Column:
    """An image that needs no older one to be complete."""
    image = F.col("_op").isin(Op.CREATE.value, Op.READ.value, Op.UPDATE.value)
    sent = (F.size("_unset") == 0) & (F.size("_unheld") == 0)
    return image & F.coalesce(sent, F.lit(True))


def _moved(stored: DataFrame, inferred: str) -> list[DataFrame]:
    """The keys that rows ever left or came to, as announced and as `inferred`, a path."""
    moving = stored.where(F.col("_kind") == "move")
    keys = [
        moving.select(F.col(name).alias("_key")) for name in ("_key", "_moved_from", "_moved_to")
    ]
    spark = stored.sparkSession
    if delta.exists(spark, inferred):
        halves = delta.read(spark, inferred)
        keys += [halves.select(F.col(name).alias("_key")) for name in ("_old", "_new")]
    return keys
