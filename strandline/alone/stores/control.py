"""What a source's control topics announce, kept: DDL events, and notices about snapshots."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pyarrow as pa

from strandline import connectors
from strandline.alone.stores import fencing, schemas
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.landing import RECORD, cells, landed, record
from strandline.alone.stores.noted import Noted
from strandline.alone.stores.tables import rows
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law.continuation import Announced
from strandline.law.doubts import unknown
from strandline.law.facts.announcements import Announcements
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut, Work

_EVENTS = pa.schema([*(of for of in RECORD if of[0] != "key"), ("run", pa.int32())])


@dataclass(frozen=True, slots=True)
class Control:
    """The announcements of all runs up to this one, each with its run; `records` of this one.

    `schemas` are those of the source, by which records of its tables are read as well.
    """

    manifest: Manifest
    kept: tuple[tuple[int, Record], ...]
    records: int
    schemas: Schemas = NONE
    _known: dict[int, Announced] = field(default_factory=dict, compare=False)

    def after(self, run: int, unknown: Collection[str] = ()) -> Announced:
        """What had been announced when that run was over; most tables ask for the same two.

        `unknown` are ids of schemas that nobody knew then, though somebody may now.
        """
        if run not in self._known:
            self._known[run] = self._announced(run)
        found = self._known[run]
        schemas = self.schemas.without(unknown)
        if schemas is self.schemas:
            return found
        return replace(found, history=replace(found.history, schemas=schemas))

    def _announced(self, run: int) -> Announced:
        known = _announcements(self.manifest, self.schemas)
        known.add(record for number, record in self.kept if number <= run)
        return Announced(known.history, tuple(known.snapshots))

    def wait(self, cut: TableCut, named: Collection[str], before: Noted | None, since: int) -> None:
        """Has a table wait where what is new to it is written with schemas that nobody knows yet.

        `named` are the ids that its records name, `since` is the last run that it has applied. What
        lies in quarantine is no reason to wait, nor is any other work than to compact.
        """
        if self.manifest.work is not Work.COMPACT:
            return
        known = _announcements(self.manifest, self.schemas)
        new = (record for number, record in self.kept if since < number)
        unread = {each for record in new for each in known.unknown(record)}
        unread |= {*named} - (before.unknown if before else frozenset())
        unknown.check(unread, self.schemas, cut.rules)


def announced(manifest: Manifest) -> Control:
    """Reads the run's control records and keeps those that tell something, or may one day."""
    lake = SourceLake(manifest.lake, manifest.source)
    arrived = landed(lake.landing, manifest.landing_version, manifest.control)
    found = schemas.known(lake.schemas, manifest.schemas_version)
    known = _announcements(manifest, found)
    telling = [record for record in arrived if known.is_telling(record)]
    events = Kept(lake.control)
    table = events.open()
    if telling and fencing.applied(table) < manifest.number:
        own = [{**cells(each), "run": manifest.number} for each in telling]
        events.write(table, pa.Table.from_pylist(own, schema=_EVENTS), manifest.number)
        table = events.open()
    sql = 'SELECT * FROM stored WHERE run <= :run ORDER BY topic, partition, "offset"'
    kept = [] if table is None else rows(table, sql, run=manifest.number)
    return Control(manifest, tuple((row["run"], record(row)) for row in kept), len(arrived), found)


def _announcements(manifest: Manifest, known: Schemas) -> Announcements:
    rules = next((cut.rules for cut in manifest.tables), TableRules())
    rules = replace(rules, flattened=False)  # nobody flattens what is no row
    return Announcements(connectors.named(manifest.connector), lambda _: rules, known)
