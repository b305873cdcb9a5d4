"""One table of a run, spread over tasks: from landed records to the one commit of its history."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.alone import making, takeover
from strandline.alone.stores import history, landing, quarantine
from strandline.alone.stores.control import Control
from strandline.alone.stores.noted import Noted
from strandline.changes.columns import IS_CURRENT
from strandline.changes.record import Coordinates
from strandline.law import rounds
from strandline.law.continuation import carried
from strandline.law.facts import Facts
from strandline.law.landed import Landed as Columns
from strandline.law.rounds import Said, Settled
from strandline.law.shard import Known, Making, Reader
from strandline.runs import conservation
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline_spark import delta
from strandline_spark.spread import arrival, replacement
from strandline_spark.spread.arrival import Framed, Landed, Rows
from strandline_spark.spread.parts import Parts
from strandline_spark.spread.replacement import Replacement, remembered
from strandline_spark.spread.rows import ENTRY
from strandline_spark.spread.store import Store, newest

_FEW = 200  # records that are looked at before all are read


@dataclass(frozen=True, slots=True)
class TableRun:
    """The table's part of a manifest; `spark` is a session of its own.

    `given`: records of the table that are read in place of those that the manifest pins. `did` is
    what else the run did, for its receipt.
    """

    spark: SparkSession
    manifest: Manifest
    cut: TableCut
    control: Control
    given: DataFrame | None = None
    did: Mapping[str, int] = field(default_factory=dict)

    @property
    def lake(self) -> SourceLake:
        """The source's."""
        return SourceLake(self.manifest.lake, self.manifest.source)

    @property
    def run(self) -> int:
        """The run's number."""
        return self.manifest.number

    @property
    def history(self) -> str:
        """Where the history lies."""
        return self.lake.history(self.cut.table)

    def compact(self) -> TableReceipt:
        """Applies what was landed; raises what goes wrong, having committed no history."""
        applied = delta.applied(self.spark, self.history)
        if applied >= self.run:
            text = delta.metadata(self.spark, self.history, self.run)
            return self._versioned(Noted.from_text(text).receipt)
        before, now = self.before(), self.control.after(self.run)
        over = self.run if applied < 0 else applied
        store = Store(self.spark, self.lake.records(self.cut.table), over, self.run)
        unknown = frozenset[str]() if before is None else before.unknown
        then, facts = self.control.after(over, unknown), self._facts(before)
        is_quiet = self.given is None and not self.cut.ranges
        if is_quiet and (before is None or then == now):
            return self._untouched(before)
        if applied >= 0:
            store.forget_failed()
        parts = Parts(store, self.history, self.cut.topic, self.arrived(), applied >= 0)
        if facts is None or then != now:
            taken = self._anew(parts, Known(self.making, then), Known(self.making, now))
        else:
            taken = self._onto(parts, Known(self.making, now, facts))
        self.control.wait(self.cut, taken.now.facts.unknown, before, applied)
        return self._committed(parts, taken, before)

    def before(self) -> Noted | None:
        """What the last run has noted; None where there is none, or the log has lost it."""
        text = next(delta.texts(self.spark, self.history), None)
        return None if text is None else Noted.from_text(text[1])

    def totals(self) -> Counts:
        """How many versions the history has, and how many are open; counted where no note is."""
        known = self.before()
        if known is not None:
            return known.totals
        rows = delta.read(self.spark, self.history)
        open_rows = rows.where(F.col(IS_CURRENT)).count()
        return Counts(history_rows=rows.count(), current_rows=open_rows)

    def _facts(self, before: Noted | None) -> Facts | None:
        """What the runs before knew, if it still holds."""
        if before is None or not self.cut.rules.are_noted(before.rules):
            return None
        return before.facts

    def known(self, store: Store) -> Known:
        """What is known of the table after the runs before; found out where none has left it."""
        known = Known(self.making, self.control.after(store.applied))
        facts = self._facts(self.before())
        if facts is not None:
            return known.with_facts(facts)
        rows = Framed(store.known())
        parts = Parts(store, self.history, self.cut.topic, rows, has_known=True, only_read=True)
        return rounds.reading(parts, known)[0]

    @property
    def making(self) -> Making:
        """How the table is made, wherever it is needed."""
        return making.of(self.manifest, self.cut)

    def arrived(self) -> Rows:
        """The records that the run reads."""
        if self.given is not None:
            return Framed(self.given)
        return Landed(self.spark, self.manifest, self.cut.ranges)

    def _versioned(self, receipt: TableReceipt) -> TableReceipt:
        return replace(receipt, history_version=delta.version(self.spark, self.history))

    def _untouched(self, before: Noted | None) -> TableReceipt:
        """Where nothing landed there is nothing to be written."""
        if before is None:
            return TableReceipt(self.cut.table, self.cut.topic, Counts())
        orphans = before.receipt.orphaned_moves
        receipt = TableReceipt(
            self.cut.table, self.cut.topic, before.totals, orphaned_moves=orphans
        )
        return self._versioned(receipt)

    # ------------------------------------------------------------------ what is on record

    def _glance(self, known: Known) -> Facts:
        """What the first records say: most say the same, and are not read twice then."""
        if self.given is not None:
            return known.facts
        lake, version = self.lake.landing, self.manifest.landing_version
        found = landing.first(lake, version, self.cut.ranges, _FEW)
        few = Columns(self.cut.topic)
        few.add(found)
        return known.facts + Reader.of(known).read(few).facts if found else known.facts

    def _onto(self, parts: Parts, known: Known) -> "_Taken":
        """Has only those read that arrived."""
        now, said = rounds.reading(parts, known.with_facts(self._glance(known)))
        return _Taken(known, now, said, said)

    def _anew(self, parts: Parts, then: Known, now: Known) -> "_Taken":
        """Has all records read: nobody knows the facts of those before, or they read otherwise."""
        was, before = Known(then.making, then.announced), Said()
        known = self._known(parts.store, parts.rows)
        parts.has_known = known is not None
        if known is not None:
            was, before = rounds.reading(replace(parts, rows=Framed(known), only_read=True), was)
            parts.rows = Framed(known.unionByName(parts.rows.frame))
        parts.anew = True
        after, said = rounds.reading(parts, now.with_facts(self._glance(now)))
        return _Taken(was, after, said.since(before), said, whole=True)

    def _known(self, store: Store, arrived: Rows) -> DataFrame | None:
        """The records of the runs before, but those that are read again; None: there are none."""
        if self.is_of_release_before(store):
            known = self._landed_before(store)
        elif store.exists():
            known = newest(store.known()).drop(*ENTRY.names)
        else:
            return None
        known = arrival.without(known, arrived.frame)
        return None if known.isEmpty() else known

    def _landed_before(self, store: Store) -> DataFrame:
        """All that has landed for a table of the release before, and what was corrected there."""
        over = min(store.applied, self.run - 1)
        known = arrival.landed_before(self.spark, self.manifest, self.cut, over)
        corrected = list(takeover.corrections(self.lake, self.cut))
        if corrected:
            known = known.unionByName(arrival.made(self.spark, corrected, over))
        return known

    def take_over(self, store: Store) -> None:
        """Enters what the release before keeps elsewhere, so that an order finds it here."""
        if self.is_of_release_before(store):
            known = Known(self.making, self.control.after(store.applied))
            rows = Framed(self._landed_before(store))
            parts = Parts(store, self.history, self.cut.topic, rows, has_known=True, anew=True)
            rounds.reading(parts, known)

    def is_of_release_before(self, store: Store) -> bool:
        """Whether a release before has made the history, and keeps other things on record."""
        changes = self.lake.changes(self.cut.table)
        return delta.applied(self.spark, store.uri) < delta.applied(self.spark, changes)

    # ------------------------------------------------------------------ the commit

    def _committed(self, parts: Parts, taken: "_Taken", before: Noted | None) -> TableReceipt:
        done = rounds.folding(parts, taken.before, taken.now, taken.said, whole=taken.whole)
        counts = self._counts(done, taken)
        conservation.check(counts, self.cut.topic)
        self._put_aside(parts, taken)
        waited = 0 if before is None else before.receipt.orphaned_moves
        receipt = TableReceipt(
            self.cut.table,
            self.cut.topic,
            counts,
            orphaned_moves=done.told.waiting if parts.is_whole else waited + done.told.orphans,
            regress=done.regress,
            did=self.did,
        )
        if before is None and not (counts.changes or counts.duplicates):
            return receipt  # no row was ever sent: there is no history to be made yet
        if parts.target is not None:
            return self._begun(parts, done, receipt)
        change, anew = self._change(parts, before)
        receipt = replace(
            receipt,
            counts=replace(counts, **_totals(change, before, whole=parts.is_whole)),
            changed=bool(change.come or change.gone),
        )
        forgotten = None if before is None else before.forgotten
        rules = self.cut.rules.noted()
        note = Noted(receipt, carried(done.known.facts), rules, forgotten=forgotten)
        if delta.exists(self.spark, self.history):
            replacement.admit(change, self.history, anew=anew)
        with delta.fenced(self.spark, self.run, note.text()):
            replacement.commit(change, self.history, anew=anew)
        return self._versioned(receipt)

    def _begun(self, parts: Parts, done: Settled, receipt: TableReceipt) -> TableReceipt:
        """Commits the first versions of a table, which tasks have written to files."""
        made, files = parts.written()
        counts = replace(
            receipt.counts,
            rows_written=made["made"],
            rows_closed=made["made"] - made["open"],
            history_rows=made["made"],
            current_rows=made["open"],
        )
        receipt = replace(receipt, counts=counts, changed=bool(files))
        note = Noted(receipt, carried(done.known.facts), self.cut.rules.noted())
        columns = done.known.view.columns
        history.begin(self.history, files, columns, self.run, note.text())
        return self._versioned(receipt)

    def _counts(self, done: Settled, taken: "_Taken") -> Counts:
        own = done.told.counts + done.known.counts - taken.before.counts
        quarantined = own.quarantined + taken.arrived.nowhere
        return replace(own, landed=taken.arrived.landed, quarantined=quarantined)

    def _change(self, parts: Parts, before: Noted | None) -> tuple[Replacement, bool]:
        """What is changed in the history, and whether all of it is written anew."""
        forgotten = None if before is None else before.forgotten
        went = None if parts.went is None else parts.went.remembered(forgotten).replacement
        if parts.versions is None:
            assert went is not None  # noqa: S101 - keys went on, or were derived
            return went, False
        versions, history = remembered(parts.versions, forgotten), None
        if delta.exists(self.spark, self.history):
            history = delta.read(self.spark, self.history)
            if parts.is_whole and not replacement.fits(versions, history):
                return replacement.of_all(versions, history), True
        change = replacement.compared(versions, history, parts.keys)
        return change if went is None else change + went, False

    def _put_aside(self, parts: Parts, taken: "_Taken") -> None:
        """Has in quarantine, of the records that were read, those that cannot be.

        What a run that failed has put there of what arrived leaves, and so does what is readable
        now; what somebody wants to be read again leaves by the order's own commit.
        """
        path, table = self.lake.quarantine, self.cut.table
        application = f"{delta.APPLICATION}/{table}"
        before = {record.at for record, _ in quarantine.refused(path, table, before=self.run)}
        read, staying = set[Coordinates](), set[Coordinates]()
        if taken.whole and before:
            read, staying = parts.read_again(taken.now, before)
        if taken.said.refused and delta.applied(self.spark, path, application) < self.run:
            come = parts.refused(taken.now, table, staying)
            delta.append(come, path, self.run, application)
        if self.given is None:
            own = {at for at in before if any(_has(each, at) for each in self.cut.ranges)}
            quarantine.strike(path, table, own | (read - staying), self.run)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What was known `before`, and is now; what readers said of the records that `arrived`."""

    before: Known
    now: Known
    arrived: Said
    said: Said
    whole: bool = False


def _totals(change: Replacement, before: Noted | None, *, whole: bool) -> Mapping[str, int]:
    """How many versions come and go, and how many the history has then."""
    had = Counts() if before is None or whole else before.receipt.counts
    stood = (0, 0) if whole else (change.stood, change.stood_open)
    return {
        "rows_written": change.come,
        "rows_closed": (change.made - change.open) - (change.stood - change.stood_open),
        "history_rows": had.history_rows - stood[0] + change.made,
        "current_rows": had.current_rows - stood[1] + change.open,
    }


def _has(of: OffsetRange, at: Coordinates) -> bool:
    return (
        of.topic_id == at.topic_id
        and of.partition == at.partition
        and (of.start <= at.offset < of.end)
    )
