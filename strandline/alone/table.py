"""One table of a run: from landed records to the one commit of its history."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from deltalake import DeltaTable

from strandline.alone import difference, making
from strandline.alone.difference import Change
from strandline.alone.stores import fencing, history, noted, quarantine, records
from strandline.alone.stores.control import Control
from strandline.alone.stores.heads import Stored
from strandline.alone.stores.landing import landed
from strandline.alone.stores.noted import Noted
from strandline.alone.stores.records import OnRecord
from strandline.alone.stores.tables import opened
from strandline.alone.takeover import once_landed
from strandline.changes.record import Coordinates, Record
from strandline.law import continuation, forgetting, increment
from strandline.law.continuation import NotEntered, Run, Shown
from strandline.law.forgetting import Horizon
from strandline.law.shard import Making
from strandline.runs import conservation
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline.runs.way import Way


@dataclass(frozen=True, slots=True)
class TableRun:
    """The table's part of a manifest.

    `given`: records of the table that are read in place of those that the manifest pins. `did` is
    what else the run did, for its receipt.
    """

    manifest: Manifest
    cut: TableCut
    control: Control
    given: tuple[Record, ...] | None = None
    did: Mapping[str, int] = field(default_factory=dict)

    @property
    def lake(self) -> SourceLake:
        """The source's."""
        return SourceLake(self.manifest.lake, self.manifest.source)

    def compact(self) -> TableReceipt:
        """Applies what was landed; raises what goes wrong, having committed no history."""
        uri, run = self.lake.history(self.cut.table), self.manifest.number
        stored = opened(uri)
        applied = fencing.applied(stored)
        before = None if stored is None else noted.last(stored)
        if stored is not None and applied >= run:
            return replace(noted.of_run(stored, run).receipt, history_version=stored.version())
        arrived = self._arrived()
        known = self._known(before, run if stored is None else applied)
        now = self.control.after(run)
        if not arrived and (before is None or known.announced == now):
            return self._untouched(stored, before)
        found = increment.run(self.making, known, Stored(stored), arrived, now)
        self.control.wait(self.cut, found.facts.unknown, before, applied)
        conservation.check(found.counts, self.cut.topic)
        change = self._change(stored, found, before)  # law 5 is asked there, before all writing
        self._put_aside(found, arrived)
        anew = isinstance(known, NotEntered)
        on_record = self.lake.records(self.cut.table)
        seen = records.forget_failed(on_record, stored, run)
        records.put(on_record, found.entered, run, seen=seen, anew=anew)
        return self._committed(stored, found, change, before)

    def shown(self, keys: AbstractSet[str]) -> Mapping[str, Shown]:
        """The last place in the log that each of these keys has shown, as far as it is known."""
        stored = opened(self.lake.history(self.cut.table))
        before = None if stored is None else noted.last(stored)
        known = self._known(before, fencing.applied(stored))
        return continuation.shown(
            self.making.holding, known, keys, self.control.after(self.manifest.number)
        )

    def needless(self, horizon: Horizon) -> AbstractSet[Coordinates]:
        """Where updates on record lie that no version needs any more."""
        applied = fencing.applied(opened(self.lake.history(self.cut.table)))
        now = self.control.after(applied)
        known = OnRecord(self.lake.records(self.cut.table), applied, None, now)
        return forgetting.needless(
            self.making.holding, [of for of, _ in known.every()], now, horizon
        )

    def _arrived(self) -> Sequence[Record]:
        if self.given is not None:
            return self.given
        return landed(self.lake.landing, self.manifest.landing_version, self.cut.ranges)

    def _known(self, before: Noted | None, applied: int) -> continuation.OnRecord:
        """What the runs up to `applied` have left; records may be on record where no row is."""
        unknown = frozenset[str]() if before is None else before.unknown
        announced = self.control.after(applied, unknown)
        if self._is_spread(before, applied):
            return NotEntered(announced, once_landed(self.manifest, self.cut))
        holds = before is not None and self.cut.rules.are_noted(before.rules)
        facts = before.facts if before and holds else None
        return OnRecord(self.lake.records(self.cut.table), applied, facts, announced)

    def _is_spread(self, before: Noted | None, applied: int) -> bool:
        """Whether Spark has made the history, and keeps other things on record.

        Where the log has lost the note, the later of what either way keeps says so.
        """
        if before is not None or applied < 0:
            return before is not None and before.way is Way.SPREAD
        own, others = self.lake.records(self.cut.table), self.lake.changes(self.cut.table)
        return fencing.applied(opened(own)) < fencing.applied(opened(others))

    def _untouched(self, stored: DeltaTable | None, before: Noted | None) -> TableReceipt:
        """Where nothing landed there is nothing to be written."""
        if stored is None or before is None:
            return TableReceipt(self.cut.table, self.cut.topic, Counts())
        return TableReceipt(
            self.cut.table,
            self.cut.topic,
            before.totals,
            history_version=stored.version(),
            orphaned_moves=before.receipt.orphaned_moves,
        )

    @property
    def making(self) -> Making:
        """How the table is made, wherever it is needed."""
        return making.of(self.manifest, self.cut)

    def _put_aside(self, found: Run, arrived: Sequence[Record]) -> None:
        """Has in quarantine, of the records that were read, those that cannot be.

        What a run that failed has put there of what arrived leaves, and so does what is readable
        now; what somebody wants to be read again leaves by the order's own commit.
        """
        path, table, run = self.lake.quarantine, self.cut.table, self.manifest.number
        own, before = {record.at for record in arrived}, set[Coordinates]()
        if found.read:
            known = quarantine.refused(path, table, before=run)
            before = {record.at for record, _ in known} & found.read
        refused = {record.at: (record, why) for record, why in found.refused}
        staying = before & refused.keys() - own
        come = [each for at, each in refused.items() if at not in staying]
        quarantine.put(path, table, come, run)
        if self.given is None:
            quarantine.strike(path, table, before - staying, run)

    def _change(self, stored: DeltaTable | None, found: Run, before: Noted | None) -> Change:
        standing = history.standing(stored, None if found.whole else found.keys)
        forgotten = None if before is None else before.forgotten
        return difference.change(stored, standing, found, forgotten)

    def _committed(
        self, stored: DeltaTable | None, found: Run, change: Change, before: Noted | None
    ) -> TableReceipt:
        table, run = self.cut.table, self.manifest.number
        known = None if before is None or found.whole else before.receipt.counts
        counts = replace(
            found.counts,
            rows_written=change.come,
            rows_closed=change.closed,
            **change.totals(known),
        )
        orphans = 0 if before is None or found.whole else before.receipt.orphaned_moves
        moves = found.found.orphaned_moves if found.whole else found.orphaned_moves
        receipt = TableReceipt(
            table=table,
            topic=self.cut.topic,
            counts=counts,
            changed=bool(change.come or change.gone),
            orphaned_moves=orphans + moves,
            regress=found.found.regress,
            did=self.did,
        )
        if stored is None and not (found.counts.changes or found.counts.duplicates):
            return receipt  # no row was ever sent: there is no history to be made yet
        forgotten = None if before is None else before.forgotten
        text = Noted(receipt, found.facts, self.cut.rules.noted(), forgotten=forgotten).text()
        version = history.commit(self.lake.history(table), stored, change.replacement, run, text)
        return replace(receipt, history_version=version)
