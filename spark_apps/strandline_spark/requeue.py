"""Work `requeue`: quarantined records are read again from landing, once their cause is mended.

They are applied like records that come late. Those still refused are quarantined anew, with the
reason that holds now; then everything that was read again leaves. A run that dies before that finds
its records in quarantine as they were, and its commits done; one that dies after it finds what it
was to tell of them with the commit by which they left.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Receipt, TableReceipt
from strandline.runs.selection import Selection
from strandline_spark import control, delta, small
from strandline_spark.batch import Tally
from strandline_spark.compaction import SETTINGS, prepare, session, side_by_side
from strandline_spark.connectors import CONNECTORS
from strandline_spark.deliveries import Deliveries
from strandline_spark.heads import Standing
from strandline_spark.noted import Noted
from strandline_spark.table import TableRun

_PLACE = ("topic_id", "partition", "offset")


def requeue(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Reads again what the manifest selects, table by table."""
    began = time.monotonic()
    prepare(spark, SourceLake(manifest.lake, manifest.source))
    rules = CONNECTORS[manifest.connector].rules
    announced = control.announced(session(spark, SETTINGS), manifest, rules)
    few = small.few(session(spark, SETTINGS), manifest)

    def again(own: SparkSession, cut: TableCut) -> Requeued:
        return Requeued(own, manifest, cut, announced, refused=True, small=cut.table in few.short)

    tables = side_by_side(spark, manifest, lambda own, cut: again(own, cut).compact(), few)
    # One after the other, and last: they all leave one table, and what follows may find them there.
    done = tuple(
        _struck(again(session(spark, SETTINGS), cut), receipt)
        for cut, receipt in zip(manifest.tables, tables, strict=True)
    )
    return Receipt(
        manifest.source, manifest.number, done, seconds=round(time.monotonic() - began, 3)
    )


def _struck(run: "Requeued", receipt: TableReceipt) -> TableReceipt:
    if receipt.error is not None:
        return receipt
    read = run.landed().select(*_PLACE)
    own = (F.col("t.table") == run.cut.table) & (F.col("t.run") < run.run)
    counts = receipt.counts
    did = {"read again": counts.landed, "refused again": counts.quarantined}
    receipt = replace(receipt, did=did)
    note = Noted(receipt, frozenset()).text()
    with delta.fenced(run.spark, run.run, note, run.struck):
        delta.remove(run.spark, run.lake.quarantine, read, own)
    return receipt


class Requeued(TableRun):
    """One table of the run."""

    @property
    def struck(self) -> str:
        """The application whose transaction says that the table's records have left."""
        return f"{delta.APPLICATION}/struck/{self.cut.table}"

    def compact(self) -> TableReceipt:
        """Applies them, unless they have been read again and left: then what was told of them."""
        quarantine = self.lake.quarantine
        if delta.applied(self.spark, quarantine, self.struck) < self.run:
            return TableRun.compact(self)
        mine = (text for run, text in delta.texts(self.spark, quarantine) if run == self.run)
        receipts = (noted.receipt for noted in map(Noted.from_text, mine) if noted is not None)
        own = next((receipt for receipt in receipts if receipt.table == self.cut.table), None)
        if own is None:
            raise Terminal(
                f"{quarantine}: what run {self.run} read again of {self.cut.table} has left, but "
                "its commit is no longer in the log"
            )
        return own

    def landed(self) -> DataFrame:
        """The selected records, as landing has them."""
        places = self.quarantine().where(self._selected()).select(*_PLACE).distinct()
        return TableRun.landed(self).join(places, list(_PLACE), "left_semi")

    def refused_records(self) -> DataFrame:
        """Without those that this run reads: they are no longer in the way of a tombstone."""
        return self.quarantine().where(~self._selected())

    def standing(self, known: Deliveries, tally: Tally, *, swept: bool) -> Standing:
        """Every key is made again: a tombstone that its record had kept from counting may count."""
        found = TableRun.standing(self, known, tally, swept=swept)
        keys = known.new.select("_key")
        if found.unsettled is not None:
            keys = keys.unionByName(found.unsettled.select("_key"))
        return replace(found, unsettled=keys.distinct())

    def _selected(self) -> Column:
        selection = Selection(**self.manifest.order)
        chosen = F.col("run") < self.run
        for condition in _conditions(selection):
            chosen &= F.coalesce(condition, F.lit(False))
        return chosen


def _conditions(selection: Selection) -> Iterator[Column]:
    if selection.reason:
        yield F.col("reason") == selection.reason
    if selection.since:
        yield F.col("timestamp") >= F.lit(selection.since).cast("timestamp")
    if selection.until:
        yield F.col("timestamp") < F.lit(selection.until).cast("timestamp")
