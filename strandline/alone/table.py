"""One table of a run: from landed records to the one commit of its history."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from deltalake import DeltaTable

from strandline.alone import difference, fencing, history, noted, quarantine, records
from strandline.alone.control import Control
from strandline.alone.landing import landed
from strandline.alone.noted import Noted
from strandline.alone.records import OnRecord
from strandline.alone.tables import opened
from strandline.changes.record import Record
from strandline.connectors import CONNECTORS
from strandline.formats.schema_history import SchemaHistory
from strandline.law import continuation
from strandline.law.continuation import Run
from strandline.law.decode.general import Decoder
from strandline.law.table import Table
from strandline.runs import conservation
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt


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
        before = None if stored is None else noted.last(stored)
        if stored is not None and applied >= run:
            return replace(noted.of_run(stored, run).receipt, history_version=stored.version())
        arrived = landed(self._lake.landing, self.manifest.landing_version, self.cut.ranges)
        known = OnRecord(
            self._lake.records(self.cut.table),
            run if stored is None else applied,  # records may be on record where no row is
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
        decoder = Decoder(CONNECTORS[self.manifest.connector], self.cut.rules, schemas)
        return Table.of(self.cut.topic, decoder, datetime.fromisoformat(self.manifest.planned_at))

    def _committed(
        self,
        stored: DeltaTable | None,
        found: Run,
        arrived: Sequence[Record],
        before: Noted | None,
    ) -> TableReceipt:
        table, run = self.cut.table, self.manifest.number
        conservation.check(found.counts, self.cut.topic)
        refused = {each.at: each for each in found.refused}
        of_these = [(record, refused[record.at]) for record in arrived if record.at in refused]
        quarantine.put(self._lake.quarantine, table, of_these, run)
        records.put(self._lake.records(table), found.entered, run)
        standing = history.standing(stored, None if found.whole else found.keys)
        change = difference.replacement(stored, standing, found)
        counts = replace(
            found.counts,
            rows_written=len(change.come),
            rows_closed=len(change.gone),
            **difference.totals(None if before is None else before.receipt.counts, standing, found),
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
