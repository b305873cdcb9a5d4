"""What a source's control topics announce, kept: DDL events, and notices about snapshots."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from strandline.alone import fencing
from strandline.alone.fencing import Kept
from strandline.alone.landing import landed
from strandline.alone.tables import rows
from strandline.cells.instants import instant, micros
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.formats import notification
from strandline.law.continuation import Announced
from strandline.law.facts.announcements import Announcements
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest

_EVENTS = pa.schema(
    [
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("value", pa.binary()),
        ("run", pa.int32()),
    ]
)
# Of the notices only those about whole snapshots: an incremental one sends one for every chunk.
_TELLING = (f'"{notification.INITIAL}"'.encode(), b'"tableChanges"')


@dataclass(frozen=True, slots=True)
class Control:
    """The announcements of all runs up to this one, each with its run; `records` of this one."""

    manifest: Manifest
    kept: tuple[tuple[int, Record], ...]
    records: int

    def after(self, run: int) -> Announced:
        """What had been announced when that run was over."""
        rules = next((cut.rules for cut in self.manifest.tables), TableRules())
        rules = replace(rules, flattened=False)  # nobody flattens what is no row
        known = Announcements(CONNECTORS[self.manifest.connector], lambda _: rules)
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
        made = pa.Table.from_pylist(list(_rows(telling, manifest.number)), schema=_EVENTS)
        events.write(table, made, manifest.number)
        table = events.open()
    sql = 'SELECT * FROM stored WHERE run <= :run ORDER BY topic, partition, "offset"'
    kept = [] if table is None else rows(table, sql, run=manifest.number)
    return Control(manifest, tuple((row["run"], _record(row)) for row in kept), len(arrived))


def _rows(records: Iterable[Record], run: int) -> Iterable[dict[str, object]]:
    for record in records:
        at = record.at
        yield {
            "topic": at.topic,
            "topic_id": at.topic_id,
            "partition": at.partition,
            "offset": at.offset,
            "timestamp": instant(record.timestamp * 1000),
            "value": record.value,
            "run": run,
        }


def _record(row: dict[str, object]) -> Record:
    at = Coordinates(
        str(row["topic"]), int(str(row["partition"])), int(str(row["offset"])), str(row["topic_id"])
    )
    return Record(at, micros(row["timestamp"]) // 1000, None, row["value"])  # type: ignore[arg-type]
