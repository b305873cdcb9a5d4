"""One table of a run: from landed records to the one commit of its history."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from deltalake import DeltaTable

from strandline.alone import fencing, history, quarantine, records
from strandline.alone.control import Control
from strandline.alone.history import Place, Replacement
from strandline.alone.landing import landed
from strandline.alone.records import OnRecord
from strandline.alone.tables import opened
from strandline.changes.columns import IS_CURRENT, RECORDED_AT
from strandline.changes.record import Record
from strandline.changes.version import Version
from strandline.connectors import CONNECTORS
from strandline.errors import AuditError, Terminal
from strandline.formats.schema_history import SchemaHistory
from strandline.law import continuation
from strandline.law.continuation import Run
from strandline.law.decode.general import Decoder
from strandline.law.facts import Facts, document
from strandline.law.plain.keys import PlainKeys
from strandline.law.records import Records
from strandline.law.table import Table
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt

_PASSING = frozenset({RECORDED_AT})
Standing = Mapping[Place, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Noted:
    """What a run leaves with its commit of a history, for the next one to go on from.

    Its receipt, the facts of the table, and the `rules` that the history was made by.
    """

    receipt: TableReceipt
    facts: Facts
    rules: str

    def text(self) -> str:
        """As JSON."""
        facts = b64encode(document.written(self.facts)).decode()
        told = {"receipt": asdict(self.receipt), "facts": facts, "rules": self.rules}
        return json.dumps(told)

    @staticmethod
    def from_text(text: str) -> "Noted":
        """What `text` wrote; `Terminal` where the other way, or another release, wrote it."""
        told = json.loads(text)
        if "facts" not in told:
            raise Terminal(
                "the runs before went through Spark, which notes other things: replay the table, "
                "or set engine to spark for this source"
            )
        counts = Counts(**told["receipt"].pop("counts"))
        receipt = TableReceipt(counts=counts, **told["receipt"])
        return Noted(receipt, document.read(b64decode(told["facts"])), told["rules"])


@dataclass(frozen=True, slots=True)
class TableRun:
    """The table's part of a manifest."""

    manifest: Manifest
    cut: TableCut
    control: Control

    @property
    def _lake(self) -> SourceLake:
        return SourceLake(self.manifest.lake, self.manifest.source)

    def compact(self) -> TableReceipt:
        """Applies what was landed; raises what goes wrong, having committed no history."""
        uri, run = self._lake.history(self.cut.table), self.manifest.number
        stored = opened(uri)
        applied = fencing.applied(stored)
        before = None if stored is None else _noted(stored)
        if stored is not None and before is not None and applied >= run:
            mine = next((text for number, text in fencing.notes(stored) if number == run), None)
            receipt = before.receipt if mine is None else Noted.from_text(mine).receipt
            return replace(receipt, history_version=stored.version())
        arrived = landed(self._lake.landing, self.manifest.landing_version, self.cut.ranges)
        known = OnRecord(
            self._lake.records(self.cut.table),
            self.cut.topic,
            applied,
            before.facts if before is not None and before.rules == self._rules else None,
            self.control.after(applied),
        )
        now = self.control.after(run)
        if not arrived and (before is None or known.announced == now):
            return self._untouched(stored, before)
        found = continuation.run(self._table, known, arrived, now)
        return self._committed(stored, found, arrived, before)

    def _untouched(self, stored: DeltaTable | None, before: Noted | None) -> TableReceipt:
        """Where nothing landed there is nothing to be written."""
        if stored is None or before is None:
            return TableReceipt(self.cut.table, self.cut.topic, Counts())
        known = before.receipt
        counts = Counts(
            history_rows=known.counts.history_rows, current_rows=known.counts.current_rows
        )
        return TableReceipt(
            self.cut.table,
            self.cut.topic,
            counts,
            history_version=stored.version(),
            orphaned_moves=known.orphaned_moves,
        )

    @property
    def _rules(self) -> str:
        """The table's rules as a text: under others all of its history may be another one."""
        return json.dumps(asdict(self.cut.rules), sort_keys=True, default=str)

    def _table(self, schemas: SchemaHistory) -> Table:
        rules, topic = self.cut.rules, self.cut.topic
        decoder = Decoder(CONNECTORS[self.manifest.connector], rules, schemas)
        recorded_at = datetime.fromisoformat(self.manifest.planned_at)
        return Table(topic, rules, recorded_at, Records(decoder), PlainKeys.of(topic, decoder))

    def _committed(
        self,
        stored: DeltaTable | None,
        found: Run,
        arrived: Sequence[Record],
        before: Noted | None,
    ) -> TableReceipt:
        table, run = self.cut.table, self.manifest.number
        _conserved(found.counts, self.cut.topic)
        refused = {each.at: each for each in found.refused}
        of_these = [(record, refused[record.at]) for record in arrived if record.at in refused]
        quarantine.put(self._lake.quarantine, table, of_these, run)
        records.put(self._lake.records(table), arrived, found.entries, run)
        standing = history.standing(stored, None if found.whole else found.keys)
        change = _replacement(stored, standing, found)
        counts = replace(
            found.counts,
            rows_written=len(change.come),
            rows_closed=len(change.gone),
            **_totals(before, standing, found),
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
        )
        if stored is None and not (found.counts.changes or found.counts.duplicates):
            return receipt  # no row was ever sent: there is no history to be made yet
        text = Noted(receipt, found.facts, self._rules).text()
        version = history.commit(self._lake.history(table), stored, change, run, text)
        return replace(receipt, history_version=version)


def _noted(stored: DeltaTable) -> Noted | None:
    """What the last run noted; None where the log has lost it: then all is read anew."""
    last = next(fencing.notes(stored), None)
    return None if last is None else Noted.from_text(last[1])


def _replacement(stored: DeltaTable | None, standing: Standing, found: Run) -> Replacement:
    """Which versions come and which go, of those that the run has looked at.

    What stands is asked of the table itself: another release, or another rule, has made it.
    """
    columns, versions = found.found.columns, found.found.versions
    heads = _heads(versions)
    places = {_place(version): version for version in versions}
    anew = stored is None or (found.whole and not history.has(stored, columns))
    same = {
        at
        for at, version in places.items()
        if at in standing and _is_same(standing[at], history.cells(version, heads))
    }
    if anew:
        come = [
            replace(version, recorded_at=standing[at][RECORDED_AT]) if at in same else version
            for at, version in places.items()
        ]
        return Replacement(columns, come, (), heads, whole=True)
    come = [version for at, version in places.items() if at not in same]
    gone = [at for at in standing if at not in same]
    return Replacement(columns, come, gone, heads, whole=False)


def _is_same(row: Mapping[str, Any], version: Mapping[str, Any]) -> bool:
    """Whether a row is that version; when it was recorded is no part of it."""
    names = {*row, *version} - _PASSING
    return all(row.get(name) == version.get(name) for name in names)


def _totals(before: Noted | None, standing: Standing, found: Run) -> Mapping[str, int]:
    """How many versions the history has after the run, and how many of them are open."""
    made = found.found.counts
    if found.whole or before is None:
        return {"history_rows": made.history_rows, "current_rows": made.current_rows}
    old, open_ = before.receipt.counts, sum(row[IS_CURRENT] for row in standing.values())
    return {
        "history_rows": old.history_rows - len(standing) + made.history_rows,
        "current_rows": old.current_rows - open_ + made.current_rows,
    }


def _heads(versions: Iterable[Version]) -> frozenset[Place]:
    """The places of the last versions of their keys, of versions in order."""
    return frozenset({version.key: _place(version) for version in versions}.values())


def _place(version: Version) -> Place:
    return version.key, version.seq_from


def _conserved(counts: Counts, topic: str) -> None:
    """`AuditError` where landed records vanished or multiplied (law 6)."""
    if not counts.conserved:
        raise AuditError(
            f"{topic}: {counts.landed} records were landed, but {counts.changes} changes, "
            f"{counts.duplicates} duplicates, {counts.control} control records and "
            f"{counts.quarantined} quarantined were counted; nothing was committed. "
            "This is a fault of Strandline: keep the lake and report it"
        )
