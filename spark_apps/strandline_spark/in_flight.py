"""Transactions that may have been open at a snapshot; the twin of `strandline.law.group.in_flight`.

The deliveries of the first one after a start are few. `_kind` tells them from other rows: they are
found by their partition. Of those that go on behind reads the ids are noted with each commit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline_spark.batch import Tally
from strandline_spark.checkpoint import kept
from strandline_spark.connectors import Connector
from strandline_spark.distinct import STREAMED, before_phase, directly_after, major, raw

_MOST = 1_000  # snapshots of a table; they go with every commit, so the newest have to do


@dataclass(frozen=True, slots=True)
class Spans:
    """Transactions of a table that go on behind reads, though the commit before them is not.

    `places` are the positions of its whole snapshots' reads, as the major parts of a `_seq`;
    `transactions` the ids. A snapshot has one place, and one such transaction at most.
    """

    places: frozenset[str] = frozenset()
    transactions: frozenset[str] = frozenset()

    def as_json(self) -> Mapping[str, Sequence[str]]:
        """For a note."""
        return {"places": sorted(self.places), "transactions": sorted(self.transactions)}

    @staticmethod
    def from_json(told: Mapping[str, Sequence[str]] | None) -> "Spans | None":
        """What `as_json` made; None where there is nothing."""
        if told is None:
            return None
        return Spans(frozenset(told["places"]), frozenset(told["transactions"]))


def spans(
    every: DataFrame, new: DataFrame, tally: Tally, before: Spans | None, connector: Connector
) -> Spans:
    """Those of a table after a run: `every` has all deliveries, `new` those of the run.

    Looked for in everything where reads came at a new place, else in what may be older than some.
    """
    own = _own(connector)
    if own is None:
        return Spans()
    if before is None:
        places = _places(every)
        return Spans(places, _spanning(every, places, own))
    new_places = _places(new) - before.places if tally.reads else frozenset()
    places = frozenset(sorted(before.places | new_places)[-_MOST:])
    found: frozenset[str] = frozenset()
    if new_places:
        found = _spanning(every, places, own)
    elif places and tally.lowest is not None and tally.lowest < max(places):
        found = _spanning(new, places, own)
    return Spans(places, before.transactions | found)


def _places(deliveries: DataFrame) -> frozenset[str]:
    place = major(F.col("_seq")).alias("place")
    found = deliveries.where(F.col("_emitted").isNotNull()).select(place).distinct()
    return frozenset(row["place"] for row in found.orderBy(F.desc("place")).take(_MOST))


def _spanning(
    deliveries: DataFrame, places: frozenset[str], own: Mapping[str, Column]
) -> frozenset[str]:
    """The ids of transactions of which a row stands behind reads, and the commit before it not."""
    if not places:
        return frozenset()
    least, behind = major(F.col("_seq")), major(own["_seq"])
    between = F.exists(
        F.array(*map(F.lit, sorted(places))), lambda place: (least < place) & (place < behind)
    )
    streamed = F.col("_op").isin(*STREAMED) & F.col("_tx_id").isNotNull()
    found = deliveries.where(streamed & between).select("_tx_id").distinct()
    return frozenset(row["_tx_id"] for row in found.take(_MOST))


def by_own_position(
    few: DataFrame, deliveries: Iterable[DataFrame], spans: Spans, connector: Connector
) -> Iterator[DataFrame]:
    """The same deliveries; of one transaction all stand alike, those that know more included.

    `few` has those of the table that know no commit before them.
    """
    own = _own(connector)
    if own is None:
        return iter(deliveries)
    named = few.where(F.col("_in_flight") & F.col("_tx_id").isNotNull())
    first = kept(named.select("_tx_id").distinct()).withColumn("_first", F.lit(True))
    return (_rebased(each, first, spans, own) for each in deliveries)


def _own(connector: Connector) -> Mapping[str, Column] | None:
    return connector.own(F.col("_seq"), F.col("_position"))


def _rebased(
    deliveries: DataFrame, first: DataFrame, spans: Spans, own: Mapping[str, Column]
) -> DataFrame:
    told = deliveries.join(F.broadcast(first), "_tx_id", "left")
    open_then = F.col("_first") | F.col("_tx_id").isin(*sorted(spans.transactions))
    stands = F.coalesce(open_then, F.lit(False)) & F.col("_op").isin(*STREAMED)
    rebased = {
        name: F.when(stands, column).otherwise(F.col(name))
        for name, column in {**own, "_in_flight": F.lit(True)}.items()
    }
    return told.withColumns(rebased).drop("_first")


def reads(everything: DataFrame) -> DataFrame:
    """One row, `_reads`: where the reads of a table's snapshots stand, since when they came."""
    since = (
        everything.where(F.col("_emitted").isNotNull())
        .groupBy(before_phase(F.col("_seq")).alias("place"))
        .agg(F.min("_emitted").alias("since"))
    )
    return kept(since.agg(F.collect_list(F.struct("place", "since")).alias("_reads")))


def after_reads(deliveries: DataFrame, snapshots: DataFrame) -> DataFrame:
    """A change of a transaction that was open at a snapshot is newer than the reads before it.

    Its position is below theirs, but it comes later: than the read of its own row in the same
    partition, than those of other rows by the connector's clock (docs/facts/questions.md, A10).
    """
    before = raw().rowsBetween(Window.unboundedPreceding, -1)
    own = F.max(F.when(F.col("_op") == Op.READ.value, F.col("_seq"))).over(before)
    read = F.greatest(own, _before(F.col("_clock")))
    lifted = F.col("_in_flight") & F.coalesce(F.col("_seq") < read, F.lit(False))
    seq = directly_after(read, F.col("_offset"), F.col("_partition"))
    together = deliveries.crossJoin(F.broadcast(snapshots))
    return together.withColumn("_seq", F.when(lifted, seq).otherwise(F.col("_seq"))).drop("_reads")


def _before(clock: Column) -> Column:
    """The place of the last reads that were emitted before a change."""
    earlier = F.filter("_reads", lambda read: read["since"] <= clock)
    return F.array_max(F.transform(earlier, lambda read: read["place"]))
