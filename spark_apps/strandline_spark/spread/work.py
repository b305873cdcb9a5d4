"""What a manifest asks for, done to tables that are spread: side by side, each over many tasks.

A table that fails does not hold the others; the receipt says what happened to each.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from strandline.alone.stores.control import Control
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.rebuild import Rebuild
from strandline.runs.receipt import TableReceipt
from strandline.runs.way import Way
from strandline_spark import delta, files
from strandline_spark.attempts import attempts, prepare
from strandline_spark.spread.orders.erase import erased
from strandline_spark.spread.orders.maintenance import maintained
from strandline_spark.spread.orders.reconcile import reconciled
from strandline_spark.spread.orders.replay import replayed, undone
from strandline_spark.spread.orders.requeue import requeued
from strandline_spark.spread.table import TableRun

_Done = Callable[[SparkSession, Manifest, TableCut, Control], TableReceipt]


def _compacted(
    spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control
) -> TableReceipt:
    return TableRun(spark, manifest, cut, known).compact()


_DONE_BY: Mapping[Work, _Done] = {
    Work.COMPACT: _compacted,
    Work.MAINTAIN: maintained,
    Work.REQUEUE: requeued,
    Work.REPLAY: replayed,
    Work.UNDO: undone,
    Work.ERASE: erased,
    Work.RECONCILE: reconciled,
}


def spread(spark: SparkSession, manifest: Manifest, known: Control) -> tuple[TableReceipt, ...]:
    """The receipts of the manifest's tables."""
    lake, work = SourceLake(manifest.lake, manifest.source), _DONE_BY[manifest.work]
    prepare(spark, lake)
    if manifest.work is Work.REPLAY:
        prepare(spark, replace(lake, shadow=manifest.number))

    def done(own: SparkSession, cut: TableCut) -> TableReceipt:
        return replace(work(own, manifest, cut, known), way=Way.SPREAD)

    found = attempts(spark, manifest, manifest.tables, done)
    swapped = manifest.work is Work.REPLAY and Rebuild(**manifest.order).swap
    if swapped and all(receipt.error is None for receipt in found):
        files.remove(spark, lake.shadows)
    if manifest.work is Work.ERASE:  # the files of the version before may be gone already
        found = tuple(_as_left(spark, lake, receipt) for receipt in found)
    return found


def _as_left(spark: SparkSession, lake: SourceLake, receipt: TableReceipt) -> TableReceipt:
    return replace(receipt, history_version=delta.version(spark, lake.history(receipt.table)))
