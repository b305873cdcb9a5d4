"""The first transaction after a start in columns; the twin of `strandline.interpreter.in_flight`.

Its deliveries are few. `_kind` tells them from other rows: they are found by their partition.
"""

from collections.abc import Iterable, Iterator

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.change import Op
from strandline_spark.connectors import Connector
from strandline_spark.distinct import STREAMED, before_phase, directly_after, raw
from strandline_spark.memory import kept


def by_own_position(
    few: DataFrame, deliveries: Iterable[DataFrame], connector: Connector
) -> Iterator[DataFrame]:
    """The same deliveries; of one transaction all stand alike, those that know more included.

    `few` has those of the table that know no commit before them.
    """
    named = few.where(F.col("_in_flight") & F.col("_tx_id").isNotNull())
    first = kept(named.select("_tx_id").distinct()).withColumn("_first", F.lit(True))
    return (_rebased(each, first, connector) for each in deliveries)


def _rebased(deliveries: DataFrame, first: DataFrame, connector: Connector) -> DataFrame:
    own = connector.own(F.col("_seq"), F.col("_position"))
    told = deliveries.join(F.broadcast(first), "_tx_id", "left")
    stands = F.col("_first") & F.col("_op").isin(*STREAMED)
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
    partition, than those of other rows by the connector's clock (ordering-notes §9, A10).
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
