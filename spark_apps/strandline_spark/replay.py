"""Works `replay` and `undo`: tables are rebuilt from landing beside themselves, compared, swapped.

What was there stays in the tables' own logs, from where `undo` takes it back. Between the commits
of a swap no other run can come: its manifest is open, and whoever finds it finishes it.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.rebuild import Rebuild
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.reconciliation import TOPIC
from strandline_spark import (
    abandoned,
    changes,
    comparison,
    control,
    corrections,
    delta,
    files,
    heads,
    landing,
    noted,
    servers,
    small,
    swap,
)
from strandline_spark.batch import Batch
from strandline_spark.compaction import SETTINGS, prepare, session, side_by_side
from strandline_spark.connectors import CONNECTORS
from strandline_spark.control import Announced
from strandline_spark.noted import Noted
from strandline_spark.swap import Mark, Stores
from strandline_spark.table import TableRun

_BEFORE = -1  # a run that counts as applied where nothing is


def replay(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Rebuilds, compares and, where it is ordered, swaps each table of the manifest."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    prepare(spark, replace(lake, shadow=manifest.number))
    rules = CONNECTORS[manifest.connector].rules
    announced = control.announced(session(spark, SETTINGS), manifest, rules)
    order = Rebuild(**manifest.order)
    few = small.few(session(spark, SETTINGS), manifest)

    def again(own: SparkSession, cut: TableCut) -> TableReceipt:
        return _Replay(own, manifest, cut, announced, cut.table in few.short).receipt(order)

    done = side_by_side(spark, manifest, again, few)
    _refuse_half(spark, lake, manifest, done)
    if order.swap:
        # One after the other: all tables share one quarantine.
        for receipt in done:
            if receipt.error is None:
                shadow = replace(lake, shadow=manifest.number).quarantine
                refused = delta.read(spark, shadow).where(F.col("table") == receipt.table)
                swap.quarantine(spark, lake.quarantine, receipt.table, refused, manifest.number)
        files.remove(spark, lake.shadows)
    return Receipt(manifest.source, manifest.number, done, seconds=_since(began))


def undo(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Takes a swap back: the tables are what they were, and what was applied since is so again."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    of = Rebuild(**manifest.order).undo or 0
    done = side_by_side(spark, manifest, lambda own, cut: _undone(own, manifest, cut, of))
    _refuse_half(spark, lake, manifest, done)
    for receipt in done:
        if receipt.error is None:
            before = delta.read(spark, lake.quarantine, receipt.did["quarantine"])
            before = before.where(F.col("table") == receipt.table)
            swap.quarantine(spark, lake.quarantine, receipt.table, before, manifest.number)
    return Receipt(manifest.source, manifest.number, done, seconds=_since(began))


class _Shadow(TableRun):
    """The table as if everything had just landed, but for corrections: those are taken along."""

    @property
    def lake(self) -> SourceLake:
        return SourceLake(self.manifest.lake, self.manifest.source, self.manifest.number)

    def arrived(self) -> Batch:
        """See `TableRun`; corrections, which nothing has landed for, are put beside it."""
        batch = TableRun.arrived(self)
        standing = SourceLake(self.manifest.lake, self.manifest.source)
        stored = delta.read(self.spark, standing.changes(self.cut.table))
        made = stored.where(corrections.is_correction()).withColumn("_run", F.lit(_BEFORE))
        if made.isEmpty():
            return batch
        application = f"{delta.APPLICATION}/{TOPIC}"
        delta.append(made, self.lake.changes(self.cut.table), self.run, application)
        return replace(batch, changes=None)  # they are read along with the rest


@dataclass(frozen=True, slots=True)
class _Replay:
    """One table of the run."""

    spark: SparkSession
    manifest: Manifest
    cut: TableCut
    announced: Announced
    small: bool

    def receipt(self, order: Rebuild) -> TableReceipt:
        spark, table, number = self.spark, self.cut.table, self.manifest.number
        lake = SourceLake(self.manifest.lake, self.manifest.source)
        history = lake.history(table)
        if delta.applied(spark, history) >= number:
            done = noted.of_run(spark, history, number)
            assert done is not None  # noqa: S101 - this release wrote it
            return replace(done.receipt, history_version=delta.version(spark, history))
        abandoned.forget_before(spark, lake, table, number)
        self._refuse_loss(lake)
        shadow = _Shadow(spark, self.manifest, self.cut, self.announced, False, self.small)
        built = shadow.compact()
        if built.history_version < 0:
            raise Terminal(f"{self.cut.topic}: nothing that is landed makes a version")
        before = order.before[table]
        found = comparison.counted(
            delta.read(spark, history, before["history"]),
            delta.read(spark, shadow.lake.history(table)),
        )
        receipt = replace(
            built, did=found, changed=False, history_version=delta.version(spark, history)
        )
        if not order.swap:
            counts = Counts(**noted.last(spark, lake, self.cut).totals)
            return replace(receipt, counts=counts)
        receipt = replace(receipt, changed=True, did={**found, **before})
        note = replace(noted.last(spark, shadow.lake, self.cut), receipt=receipt).text()
        swap.stores(Stores.of(spark, shadow.lake, table), lake, table, Mark(number, note))
        return replace(receipt, history_version=delta.version(spark, history))

    def _refuse_loss(self, lake: SourceLake) -> None:
        """`Terminal` where records that the table was made of are no longer landed."""
        spark = self.spark
        landed = landing.records(
            spark, lake.landing, self.manifest.landing_version, self.cut.ranges
        ).select(
            F.col("topic_id").alias("_topic_id"),
            F.col("partition").alias("_partition"),
            F.col("offset").alias("_offset"),
        )
        stored = delta.read(spark, lake.changes(self.cut.table))
        stored = stored.where(~corrections.is_correction())
        missing = stored.join(landed, landed.columns, "left_anti").count()
        if missing:
            raise Terminal(
                f"{self.cut.topic}: {missing} changes of the table are of records that landing no "
                "longer has (retention, or an erasure): a replay would lose them. Leave the table "
                "as it is, or let its connector take a new snapshot"
            )


def _undone(spark: SparkSession, manifest: Manifest, cut: TableCut, of: int) -> TableReceipt:
    lake = SourceLake(manifest.lake, manifest.source)
    history = lake.history(cut.table)
    if delta.applied(spark, history) >= manifest.number:
        done = noted.of_run(spark, history, manifest.number)
    else:
        done = _taken_back(spark, manifest, cut, of)
    assert done is not None  # noqa: S101 - this release wrote it
    return replace(done.receipt, history_version=delta.version(spark, history))


def _taken_back(spark: SparkSession, manifest: Manifest, cut: TableCut, of: int) -> Noted:
    lake = SourceLake(manifest.lake, manifest.source)
    history = lake.history(cut.table)
    swapped = noted.of_run(spark, history, of)
    versions = swapped.receipt.did if swapped else {}
    if "history" not in versions:
        raise Terminal(f"{cut.topic}: run {of} has not swapped this table")
    before = Stores.at(spark, lake, cut.table, versions)
    last, earlier = noted.before_run(spark, history, of)
    before = replace(before, changes=before.changes.where(F.col("_run") <= last))
    back = Noted(
        TableReceipt(
            cut.table, cut.topic, heads.totals(before.history), changed=True, did=versions
        ),
        changes.kinds(before.changes),
        earlier.waiting if earlier else {},
        tags=servers.tags(before.changes),
        told=earlier.told if earlier else None,
        forgotten=earlier.forgotten if earlier else None,
    )
    back = replace(back, receipt=replace(back.receipt, orphaned_moves=back.orphans))
    swap.stores(before, lake, cut.table, Mark(manifest.number, back.text()))
    return back


def _refuse_half(
    spark: SparkSession, lake: SourceLake, manifest: Manifest, done: Iterable[TableReceipt]
) -> None:
    """`Terminal` where a table failed when some of its stores were new: the run is not over then.

    A receipt would end it, and the next run would go on from changes that belong to no history.
    """
    for receipt in done:
        if receipt.error and swap.is_half_done(spark, lake, receipt.table, manifest.number):
            raise Terminal(
                f"{receipt.topic}: its history could not be replaced after its changes had been "
                f"({receipt.error}). Nothing is lost, and the history is what it was: mend that, "
                f"and let run {manifest.number} be tried again, which does the rest"
            )


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)
