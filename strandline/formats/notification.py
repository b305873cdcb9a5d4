"""Debezium's notifications: how a stream says that a snapshot began, and that it is complete.

The only trustworthy end of a snapshot (docs/facts/snapshots.md, "The end of a snapshot"). COMPLETED
names neither table nor position: it belongs to the reads that were emitted between the STARTED
before it and itself, and of those, where the connector tells which tables it has read
(TABLE_SCAN_COMPLETED, Debezium 2.5), to theirs. SQL Server's connector may have a task for each
database, which take their snapshots side by side under one name: what one has completed says
nothing of what another still reads. Several connectors may share a topic for their notices; each
notice names its own in `additional_data.connector_name`, as its reads do in `source.name`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from strandline.connectors.connector import integer, text

INITIAL = "Initial Snapshot"
_STARTED, _SCANNED, _COMPLETED = "STARTED", "TABLE_SCAN_COMPLETED", "COMPLETED"
_SUCCEEDED = frozenset({None, "SUCCEEDED"})
_ORDER = {_STARTED: 0, _SCANNED: 1}  # of notices in one millisecond; an end comes last
_ENDS = frozenset({_COMPLETED, "ABORTED", "SKIPPED"})


@dataclass(frozen=True, slots=True)
class Notice:
    """One word about a whole snapshot, at a time of the connector's clock in milliseconds.

    `connector`: the logical name (topic prefix) of the one that speaks; None where it is not said.
    `table`: the one that was read to its end.
    """

    timestamp: int
    type: str
    connector: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete snapshot: the reads emitted in `[started, completed]`, in milliseconds.

    Those of `connector` only; where it or a read does not say whose it is, the times alone tell.
    `tables` are those that were read to their end, None where nobody tells. `doubtful`: another had
    begun, and nobody tells which of the two is complete, or whether the other one died.
    """

    started: int
    completed: int
    connector: str | None = None
    tables: frozenset[str] | None = None
    doubtful: bool = False

    def has(self, table: str | None) -> bool:
        """Whether it has read that table; its name may lack what every table has before it."""
        if self.tables is None:
            return True
        whole = table or ""
        names = {whole, whole.partition(".")[2], whole.partition(".")[2].partition(".")[2]}
        return not self.tables.isdisjoint(names)


def notice(payload: Mapping[str, object]) -> Notice | None:
    """The notice in a control record; None where it says nothing about a whole snapshot."""
    if payload.get("aggregate_type") != INITIAL:
        return None
    kind, timestamp = str(payload.get("type")), integer(payload.get("timestamp"))
    data = payload.get("additional_data")
    details = data if isinstance(data, Mapping) else {}
    connector, table = text(details.get("connector_name")), text(details.get("scanned_collection"))
    if timestamp is None:
        return None
    if kind == _SCANNED and table is not None and details.get("status") in _SUCCEEDED:
        return Notice(timestamp, kind, connector, table)
    return Notice(timestamp, kind, connector) if kind in (_STARTED, *_ENDS) else None


def completed(notices: Iterable[Notice]) -> list[Snapshot]:
    """The snapshots that were completed. ABORTED, or silence: the snapshot counts for nothing."""
    spoken: dict[str | None, set[Notice]] = defaultdict(set)
    for each in notices:
        spoken[each.connector].add(each)  # a repeated notice is the same one
    found = [snapshot for own in spoken.values() for snapshot in _completed(own)]
    return sorted(found, key=lambda s: (s.started, s.completed, s.connector or ""))


def trusted(snapshots: Iterable[Snapshot], *, several_tasks: bool) -> list[Snapshot]:
    """Those that may end rows; `several_tasks`: of one connector some may be taken side by side."""
    return [each for each in snapshots if not (several_tasks and each.doubtful)]


def _completed(notices: Iterable[Notice]) -> Iterator[Snapshot]:
    """Those of one connector."""
    since, starts = 0, 0
    scanned: dict[str, int] = {}  # since when: of two tries the second counts
    for each in sorted(notices, key=lambda n: (n.timestamp, _ORDER.get(n.type, len(_ORDER)))):
        if each.type == _STARTED:
            since, starts = each.timestamp, starts + 1
        elif each.table is not None:
            scanned |= {each.table: since} if since else {}
        else:
            if each.type == _COMPLETED and scanned:
                yield from _by_table(scanned, each)
            elif each.type == _COMPLETED and starts:
                yield Snapshot(since, each.timestamp, each.connector, doubtful=starts > 1)
            scanned, starts = {}, 0


def _by_table(scanned: Mapping[str, int], end: Notice) -> Iterator[Snapshot]:
    for started in sorted(set(scanned.values())):
        tables = frozenset(table for table, since in scanned.items() if since == started)
        yield Snapshot(started, end.timestamp, end.connector, tables)
