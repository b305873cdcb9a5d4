"""Keys of which every record came as the log has it; most keys are such.

Their records lie in one partition, each once and at a later position than the one before it, each
tombstone behind its delete; no row was moved, taken over or open at a snapshot. The deliveries of
such a key are its changes, and no fence or other key has a say in them: the stages between decoding
and folding would change nothing (`derive.derive_orderly`).
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.changes.change import IMAGES, Op
from strandline_spark.distinct import is_end, major
from strandline_spark.single import single
from strandline_spark.windows import hashed, of_key

_IMAGES = [op.value for op in IMAGES]
_ROW_OPS = (*_IMAGES, Op.DELETE.value, Op.TOMBSTONE.value)
# How keys are told by `by_key`: its rows come sorted by key. In a table of hashes, which holds what
# is collected of each key, Spark would sort all but the first hundred keys once more.
SETTINGS = {"spark.sql.execution.useObjectHashAggregateExec": "false"}
_MOST = 10_000  # records of a key that are held in memory to be compared


@dataclass(frozen=True, slots=True)
class Latest:
    """The last places of a table's fences: of sweeps as a `_seq`, of truncates its major part."""

    sweep: str | None = None
    truncate: str | None = None

    def is_before(self, seq: Column) -> Column:
        """Whether what stands there stands behind every fence."""
        behind = F.lit(True)
        if self.sweep is not None:
            behind &= seq > self.sweep
        if self.truncate is not None:
            behind &= major(seq) > self.truncate
        return behind


def latest(fences: DataFrame | None) -> Latest | None:
    """The last places; None where a fence stands elsewhere for each key."""
    if fences is None:
        return Latest()
    sweep, own = F.col("_sweep"), F.col("_local").isNotNull()
    last = fences.agg(
        F.max(F.when(sweep, F.col("_seq"))).alias("sweep"),
        F.max(F.when(~sweep, major(F.col("_seq")))).alias("truncate"),
        F.count_if(own).alias("own"),
    )
    found = single(last)
    return None if found["own"] else Latest(found["sweep"], found["truncate"])


def by_key(batch: DataFrame, run: int, *, shifts: bool) -> DataFrame:
    """Per key of a run's batch: `_orderly`, as far as its own records tell, and what others ask.

    What a replay takes along without a record (corrections) is of no run and in nobody's order.
    `first` and `oldest` are the least position and its major part, `changes` how many records are
    no tombstones, `partial` whether one leaves columns out; `moved` whether one moved the row,
    `dangling` whether a tombstone hangs in the air: one that no delete precedes in the batch may
    belong to a delete before it, and may have come before, with a record of an earlier run beside
    it. With `shifts` the transactions: `tx_ids`, and of creates and deletes. A `busy` key has more
    records than were looked at for what is told of transactions: it is not orderly.
    """
    tombstone = F.col("_op") == Op.TOMBSTONE.value
    arrival = of_key().orderBy("_topic_id", "_partition", "_offset")
    told = F.struct("_topic_id", "_partition", "_op", is_end().alias("ends"))
    placed = F.when(~tombstone, major(F.col("_seq")))
    every = hashed(batch).withColumns(
        {
            "_before": F.lag(told).over(arrival),
            "_nth": F.row_number().over(arrival),
            "_high": F.max(placed).over(arrival.rowsBetween(Window.unboundedPreceding, -1)),
        }
    )
    before = F.col("_before")
    here = (before["_topic_id"] == F.col("_topic_id")) & (
        before["_partition"] == F.col("_partition")
    )
    follows = F.when(tombstone, before["_op"] == Op.DELETE.value).otherwise(
        F.col("_high").isNull() | (placed > F.col("_high"))
    )
    plain = (F.col("_kind") == "row") & ~F.col("_in_flight") & F.col("_op").isin(*_ROW_OPS)
    plain &= F.col("_run") == run
    in_order = F.coalesce((before.isNull() | here) & follows & plain, F.lit(False))
    dangling = tombstone & ~F.coalesce(here & before["ends"], F.lit(False))
    some = F.col("_nth") <= _MOST
    created, deleted = (
        F.when(some & (F.col("_op") == op.value), F.col("_tx_id")) for op in (Op.CREATE, Op.DELETE)
    )
    shifting = {
        "tx_ids": F.collect_set(F.when(some, F.col("_tx_id"))),
        "created": F.collect_set(created),
        "deleted": F.collect_set(deleted),
    }
    keys = every.groupBy("_hash", "_key").agg(
        F.min(F.when(~tombstone, F.col("_seq"))).alias("first"),
        F.count_if(~tombstone).alias("changes"),
        F.max(F.col("_kind") == "move").alias("moved"),
        F.max(dangling).alias("dangling"),
        F.max(F.coalesce(F.size("_unset") > 0, F.lit(False))).alias("partial"),
        F.min(in_order).alias("in_order"),
        F.max(F.col("_op").isin(*_IMAGES)).alias("shows"),
        F.size(F.collect_set(F.when(some & ~tombstone, F.col("_identity")))).alias("identities"),
        (F.max("_nth") > _MOST).alias("busy"),
        *(found.alias(name) for name, found in shifting.items() if shifts),
    )
    once = F.col("in_order") & (F.col("identities") == F.col("changes")) & ~F.col("busy")
    if shifts:
        once &= ~F.arrays_overlap("created", "deleted")
    return keys.withColumns({"oldest": major(F.col("first")), "_orderly": once}).drop(
        "_hash", "in_order", "identities"
    )
