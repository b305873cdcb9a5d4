"""What a source's control topics announce, kept: DDL events, and notices about snapshots."""

from dataclasses import dataclass, field, replace

import pyarrow as pa

from strandline import connectors
from strandline.alone.stores import fencing
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.landing import RECORD, cells, landed, record
from strandline.alone.stores.tables import rows
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.formats import notification
from strandline.law.continuation import Announced
from strandline.law.facts.announcements import Announcements
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest

_UNSAID = frozenset({"key", "headers"})  # which say nothing in a control record
_EVENTS = pa.schema([*(of for of in RECORD if of[0] not in _UNSAID), ("run", pa.int32())])
# Of the notices only those about whole snapshots: an incremental one sends one for every chunk.
_TELLING = (f'"{notification.INITIAL}"'.encode(), b'"tableChanges"')


@dataclass(frozen=True, slots=True)
class Control:
    """The announcements of all runs up to this one, each with its run; `records` of this one."""

    manifest: Manifest
    kept: tuple[tuple[int, Record], ...]
    records: int
    _known: dict[int, Announced] = field(default_factory=dict, compare=False)

    def after(self, run: int) -> Announced:
        """What had been announced when that run was over; most tables ask for the same two."""
        if run not in self._known:
            self._known[run] = self._announced(run)
        return self._known[run]

    def _announced(self, run: int) -> Announced:
        rules = next((cut.rules for cut in self.manifest.tables), TableRules())
        rules = replace(rules, flattened=False)  # nobody flattens what is no row
        known = Announcements(connectors.named(self.manifest.connector), lambda _: rules)
        known.add(record for number, record in self.kept if number <= run)
        return Announced(known.history, tuple(known.snapshots))


def announced(manifest: Manifest) -> Control:
    """Reads the run's control records and keeps those that tell something."""
    lake = SourceLake(manifest.lake, manifest.source)
    arrived = landed(lake.landing, manifest.landing_version, manifest.control)
    telling = [r for r in arrived if any(word in (r.value or b"") for word in _TELLING)]
    events = Kept(lake.control)
    table = events.open()
    if telling and fencing.applied(table) < manifest.number:
        found = [{**cells(each), "run": manifest.number} for each in telling]
        events.write(table, pa.Table.from_pylist(found, schema=_EVENTS), manifest.number)
        table = events.open()
    sql = 'SELECT * FROM stored WHERE run <= :run ORDER BY topic, partition, "offset"'
    kept = [] if table is None else rows(table, sql, run=manifest.number)
    return Control(manifest, tuple((row["run"], record(row)) for row in kept), len(arrived))
