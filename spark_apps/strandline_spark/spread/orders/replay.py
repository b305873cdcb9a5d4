"""Works `replay` and `undo`, spread: a table is built from landing beside itself, and put in place.

What was there stays in the tables' own logs, from where `undo` takes it back. The history goes
last: a run that died before that is repeated, and does the rest.
"""

from abc import ABC, abstractmethod
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.alone import takeover
from strandline.alone.orders.replay import refuse_unswapped, taken_back
from strandline.alone.stores import quarantine, records
from strandline.alone.stores.control import Control
from strandline.alone.stores.noted import Noted
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.rebuild import Rebuild
from strandline.runs.receipt import TableReceipt
from strandline.runs.reconciliation import TOPIC
from strandline_spark import delta
from strandline_spark.spread import arrival, replacement
from strandline_spark.spread.orders import comparison
from strandline_spark.spread.rows import ENTERED, RECORD
from strandline_spark.spread.store import Store
from strandline_spark.spread.table import TableRun


def replayed(
    spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control
) -> TableReceipt:
    """Rebuilds a table, compares it and, where it is ordered, swaps it."""
    return _Replay(spark, manifest, cut, known).receipt()


def undone(spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Takes a swap back: the table is what it was, and what was applied since is so again."""
    return _Undo(spark, manifest, cut, known).receipt()


class _Replacing(TableRun, ABC):
    """One table whose history a run puts another one in the place of."""

    def receipt(self) -> TableReceipt:
        """What was done, be it by an attempt before this one."""
        if not delta.exists(self.spark, self.history):
            raise Terminal(f"{self.cut.topic}: there is no history to be replaced")
        applied = delta.applied(self.spark, self.history)
        if applied >= self.run:
            done = Noted.from_text(delta.metadata(self.spark, self.history, self.run)).receipt
        else:
            store = Store(self.spark, self.lake.records(self.cut.table), applied, self.run)
            store.forget_failed()
            done = self.replaced(store)
        if done.changed:
            quarantine.strike(self.lake.quarantine, self.cut.table, None, self.run)
            records.supersede(self.lake.records(self.cut.table), self.run)
        return replace(done, history_version=delta.version(self.spark, self.history))

    @abstractmethod
    def replaced(self, store: Store) -> TableReceipt:
        """Does it; the history comes last."""

    def commit(self, versions: DataFrame, note: Noted) -> None:
        """Puts versions in the place of the history; those that stood keep when it was recorded."""
        change = replacement.of_all(versions, delta.read(self.spark, self.history))
        replacement.admit(change, self.history, anew=True)
        with delta.fenced(self.spark, self.run, note.text()):
            replacement.commit(change, self.history, anew=True)


class _Shadow(TableRun):
    """The table as if everything had just landed, in a lake of its own; corrections come along."""

    @property
    def lake(self) -> SourceLake:
        """See `TableRun`."""
        return SourceLake(self.manifest.lake, self.manifest.source, self.run)


class _Replay(_Replacing):
    def replaced(self, store: Store) -> TableReceipt:
        """See `_Replacing`."""
        order, table = Rebuild(**self.manifest.order), self.cut.table
        arrived = self.arrived().frame
        self._refuse_loss(store, arrived)
        corrected = self._corrections(store)
        given = arrived if corrected is None else arrived.unionByName(corrected)
        shadow = _Shadow(self.spark, self.manifest, self.cut, self.control, given)
        built = shadow.compact()
        if built.history_version < 0:
            raise Terminal(f"{self.cut.topic}: nothing that is landed makes a version")
        before = order.before[table]
        made = delta.read(self.spark, shadow.history)
        did = comparison.counted(delta.read(self.spark, self.history, before["history"]), made)
        if not order.swap:
            return TableReceipt(table, self.cut.topic, self.totals(), did=did)
        note = shadow.before()
        assert note is not None  # noqa: S101 - the shadow's run has left it
        receipt = replace(built, changed=True, did={**did, **before})
        self._put(shadow, store)
        self.commit(made, replace(note, receipt=receipt))
        return receipt

    def _refuse_loss(self, store: Store, arrived: DataFrame) -> None:
        """`Terminal` where records that the table was made of are no longer landed."""
        if self.is_of_release_before(store):
            arrival.refuse_loss(arrived, self.manifest, self.cut)
            return
        if not store.exists():
            return
        known = store.known().where(F.col("topic") != TOPIC).select("topic_id", *_PLACE).distinct()
        missing = known.join(arrived, ["topic_id", *_PLACE], "left_anti").count()
        if missing:
            raise Terminal(
                f"{self.cut.topic}: landing no longer has {missing} records of the table "
                "(retention, or an erasure): a replay would lose them. Leave the table as it is, "
                "or let its connector take a new snapshot"
            )

    def _corrections(self, store: Store) -> DataFrame | None:
        """What reconciliations have set right, for which nothing has landed: it is taken along."""
        if self.is_of_release_before(store):
            made = list(takeover.corrections(self.lake, self.cut))
            return arrival.made(self.spark, made, self.run) if made else None
        if not store.exists():
            return None
        own = store.known().where(F.col("topic") == TOPIC)
        return arrival.of_run(own.select(*RECORD.names).distinct(), self.run)

    def _put(self, shadow: TableRun, store: Store) -> None:
        """Puts the shadow's records beside those of the runs before, and what it has refused.

        Where the history is refused they go on being the ones.
        """
        spark, table = self.spark, self.cut.table
        path, application = self.lake.quarantine, f"{delta.APPLICATION}/{table}"
        if delta.applied(spark, path, application) < self.run:
            refused = delta.read(spark, shadow.lake.quarantine).where(F.col("table") == table)
            delta.append(refused, path, self.run, application)
        store.put(delta.read(spark, shadow.lake.records(table)).select(*ENTERED.names))


_PLACE = ("partition", "offset")


class _Undo(_Replacing):
    def replaced(self, store: Store) -> TableReceipt:
        """See `_Replacing`."""
        del store
        spark, table = self.spark, self.cut.table
        of = Rebuild(**self.manifest.order).undo or 0
        versions = Noted.from_text(delta.metadata(spark, self.history, of)).receipt.did
        refuse_unswapped(self.cut, of, versions)
        told = next(delta.texts(spark, self.history, versions["history"]), None)
        if told is None:
            raise Terminal(f"{self.cut.topic}: the log has lost what was there before run {of}")
        earlier = Noted.from_text(told[1])
        receipt = taken_back(self.cut, earlier, versions)
        quarantine.restore(self.lake.quarantine, table, versions["quarantine"], self.run)
        # What is on record stays: what was applied since arrives again, and counts once.
        # Records may be entered under other keys since then, and more was announced.
        old = delta.read(spark, self.history, versions["history"])
        back = Noted(receipt, None, earlier.rules, forgotten=earlier.forgotten)
        self.commit(old, back)
        return receipt
