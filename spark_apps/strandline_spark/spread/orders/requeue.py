"""Work `requeue`, spread: see `strandline.alone.orders.requeue`."""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from strandline.alone.orders.requeue import read_again
from strandline.alone.stores.control import Control
from strandline.changes.record import Record
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import TableReceipt
from strandline_spark.spread import arrival
from strandline_spark.spread.table import TableRun


def requeued(
    spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control
) -> TableReceipt:
    """Reads again what the manifest selects of the table."""

    def applied(chosen: Sequence[Record]) -> TableReceipt:
        if not chosen:
            return TableRun(spark, manifest, replace(cut, ranges=()), known).compact()
        given = arrival.made(spark, chosen, manifest.number)
        return TableRun(spark, manifest, cut, known, given).compact()

    return read_again(manifest, cut, applied)
