"""Works `replay` and `undo`: a history is derived anew from landing, compared, put in its place.

What was there stays in the tables' own logs, from where `undo` takes it back. The history goes
last: a run that died before that is repeated, and does the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from deltalake import DeltaTable

from strandline.alone import difference
from strandline.alone.stores import fencing, history, noted, quarantine, records
from strandline.alone.stores.control import Control
from strandline.alone.stores.history import Replacement
from strandline.alone.stores.noted import Noted
from strandline.alone.stores.records import OnRecord
from strandline.alone.stores.tables import opened
from strandline.alone.table import TableRun
from strandline.changes.record import Record
from strandline.errors import BeyondAloneError, Terminal
from strandline.law import continuation
from strandline.law.continuation import NotEntered, Run
from strandline.law.corrections import is_correction
from strandline.runs import conservation
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.rebuild import Rebuild
from strandline.runs.receipt import TableReceipt
from strandline.runs.way import Way


def replayed(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Rebuilds a table, compares it and, where it is ordered, swaps it."""
    return _Replay(manifest, cut, known).receipt()


def undone(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Takes a swap back: the table is what it was, and what was applied since is so again."""
    return _Undo(manifest, cut, known).receipt()


class _Replacing(TableRun, ABC):
    """One table whose history a run puts another one in the place of."""

    def receipt(self) -> TableReceipt:
        """What was done, be it by an attempt before this one."""
        path = self.lake.history(self.cut.table)
        stored = opened(path)
        if stored is None:
            raise Terminal(f"{self.cut.topic}: there is no history to be replaced")
        run = self.manifest.number
        if fencing.applied(stored) >= run:
            done = noted.of_run(stored, run).receipt
        else:
            records.forget_failed(self.lake.records(self.cut.table), stored, run)
            done = self.replaced(stored)
        if done.changed:
            quarantine.strike(self.lake.quarantine, self.cut.table, None, run)
            records.supersede(self.lake.records(self.cut.table), run)
        now = opened(path)
        return replace(done, history_version=-1 if now is None else now.version())

    @abstractmethod
    def replaced(self, stored: DeltaTable) -> TableReceipt:
        """Does it; the history comes last."""


class _Replay(_Replacing):
    def replaced(self, stored: DeltaTable) -> TableReceipt:
        """See `_Replacing`."""
        order, table = Rebuild(**self.manifest.order), self.cut.table
        arrived = [*self._arrived(), *self._corrections(fencing.applied(stored))]
        self._refuse_loss(arrived, fencing.applied(stored))
        now = self.control.after(self.manifest.number)
        found = continuation.run(self.making.holding, NotEntered(now), arrived, now)
        conservation.check(found.counts, self.cut.topic)
        if not found.found.versions:
            raise Terminal(f"{self.cut.topic}: nothing that is landed makes a version")
        before = order.before[table]
        old = history.standing(opened(self.lake.history(table), before["history"]), None)
        did = difference.compared(old, found)
        receipt = TableReceipt(table, self.cut.topic, noted.totals(stored), did=did)
        if not order.swap:
            return receipt
        change = difference.change(None, history.standing(stored, None), found)
        receipt = replace(
            receipt,
            counts=replace(found.counts, **change.totals(None)),
            changed=True,
            orphaned_moves=found.found.orphaned_moves,
            regress=found.found.regress,
            did={**did, **before},
        )
        self._swap(stored, found, change.replacement, receipt)
        return receipt

    def _refuse_loss(self, arrived: Sequence[Record], applied: int) -> None:
        """`Terminal` where records that the table was made of are no longer landed."""
        missing = {of.at for of in self._on_record(applied)} - {record.at for record in arrived}
        if missing:
            raise Terminal(
                f"{self.cut.topic}: landing no longer has {len(missing)} records of the table "
                "(retention, or an erasure): a replay would lose them. Leave the table as it is, "
                "or let its connector take a new snapshot"
            )

    def _corrections(self, applied: int) -> Iterator[Record]:
        """What reconciliations have set right, for which nothing has landed: it is taken along."""
        return (of for of in self._on_record(applied) if is_correction(of.at))

    def _on_record(self, applied: int) -> Iterator[Record]:
        known = OnRecord(self.lake.records(self.cut.table), applied, None, self.control.after(0))
        return (record for record, _ in known.every())

    def _swap(
        self, stored: DeltaTable, found: Run, change: Replacement, receipt: TableReceipt
    ) -> None:
        table, run = self.cut.table, self.manifest.number
        quarantine.put(self.lake.quarantine, table, found.refused, run)
        # Beside those of the runs before: where the history is refused they go on being the ones.
        records.put(self.lake.records(table), found.entered, run)
        text = Noted(receipt, found.facts, self.cut.rules.noted()).text()
        history.commit(self.lake.history(table), stored, change, run, text)


class _Undo(_Replacing):
    def replaced(self, stored: DeltaTable) -> TableReceipt:
        """See `_Replacing`."""
        table, run = self.cut.table, self.manifest.number
        of = Rebuild(**self.manifest.order).undo or 0
        versions = noted.of_run(stored, of).receipt.did
        refuse_unswapped(self.cut, of, versions)
        old = opened(self.lake.history(table), versions["history"])
        earlier = None if old is None else noted.last(old)
        if old is None or earlier is None or earlier.way is Way.SPREAD:
            raise BeyondAloneError(f"{self.cut.topic}: Spark made what was there before run {of}")
        receipt = taken_back(self.cut, earlier, versions)
        quarantine.restore(self.lake.quarantine, table, versions["quarantine"], run)
        # What is on record stays: what was applied since arrives again, and counts once.
        # Records may be entered under other keys since then, and more was announced.
        back = replace(earlier, receipt=receipt, facts=None)
        history.restore(stored, old, run, back.text())
        return receipt


def refuse_unswapped(cut: TableCut, run: int, versions: Mapping[str, int]) -> None:
    """`Terminal` where the run has not noted the versions of before, since it swapped nothing."""
    if "history" not in versions:
        raise Terminal(f"{cut.topic}: run {run} has not swapped this table")


def taken_back(cut: TableCut, earlier: Noted, versions: Mapping[str, int]) -> TableReceipt:
    """What is told of a swap that was taken back to what `earlier` was noted of."""
    return TableReceipt(
        cut.table,
        cut.topic,
        earlier.totals,
        changed=True,
        orphaned_moves=earlier.receipt.orphaned_moves,
        did=versions,
    )
