"""What is on record of tables between runs, in memory: each run goes on from that alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from strandline.changes.record import Coordinates, Record
from strandline.changes.version import Version
from strandline.connectors import Connector
from strandline.errors import Terminal
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.formats.schema_history import SchemaHistory
from strandline.law import Rules, continuation, no_rules, total
from strandline.law.continuation import Announced, Entered, Entry
from strandline.law.decode.general import Decoder
from strandline.law.facts import Facts, document
from strandline.law.facts.announcements import Announcements
from strandline.law.table import Table, TableHistory
from strandline.runs.receipt import Counts

_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
_COUNTED = ("landed", "changes", "duplicates", "control", "quarantined", "history_rows")


@dataclass
class Recorded:
    """What is on record of one table; `held` are the records of runs that failed, with `error`."""

    topic: str
    connector: Connector | None
    rules: Rules
    announced: Announced
    document: bytes | None = None
    entries: dict[Coordinates, tuple[Record, Entry]] = field(default_factory=dict)
    history: dict[tuple[str, str], Version] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    orphaned_moves: int = 0
    held: list[Record] = field(default_factory=list)
    error: str | None = None

    @property
    def facts(self) -> Facts | None:
        return None if self.document is None else document.read(self.document)

    @property
    def versions(self) -> list[Version]:
        return [self.history[place] for place in sorted(self.history)]

    def of(self, keys: Iterable[str], links: Iterable[str]) -> list[Entered]:
        names = set(keys)
        return [
            (record, entry)
            for record, entry in self.entries.values()
            if names & {entry.key, entry.other} or entry.link in links
        ]

    def every(self) -> list[Entered]:
        return list(self.entries.values())

    def run(self, records: Iterable[Record], now: Announced) -> None:
        new = (record for record in records if record.at not in self.entries)
        arrived = list({record.at: record for record in (*self.held, *new)}.values())
        try:
            found = continuation.run(self._table, self, arrived, now)
        except Terminal as error:
            self.held, self.error = arrived, str(error)
            return
        self.held, self.error, self.announced = [], None, now
        self.document = document.written(found.facts)
        self.entries |= {record.at: (record, entry) for record, entry in found.entered}
        kept = {place: of for place, of in self.history.items() if of.key not in found.keys}
        new_ones = {(version.key, version.seq_from): version for version in found.found.versions}
        if kept.keys() & new_ones.keys():
            raise AssertionError(f"{self.topic}: a version is of a key that nobody looked at")
        self.history = kept | new_ones
        self.counts = total([self.counts, found.counts])
        self.orphaned_moves += found.orphaned_moves

    def _table(self, history: SchemaHistory) -> Table:
        return Table.of(
            self.topic, Decoder(self.connector, self.rules(self.topic), history), _MOMENT
        )


def recorded(
    runs: Iterable[Sequence[Record]],
    connector: Connector | None = None,
    rules: Rules = no_rules,
    schemas: Schemas = NONE,
) -> Mapping[str, Recorded]:
    """The tables of a stream by topic, after these runs."""

    def made(topic: str, before: Announced) -> Recorded:
        return Recorded(topic, connector, rules, before)

    return run_after_run(runs, Announcements(connector, rules, schemas), made)


class Kept(Protocol):
    """What is kept of one table between runs."""

    def run(self, records: Iterable[Record], now: Announced) -> None:
        """Takes up what arrived for it, and what the stream has announced."""


T = TypeVar("T", bound=Kept)


def run_after_run(
    runs: Iterable[Sequence[Record]],
    stream: Announcements,
    made: Callable[[str, Announced], T],
) -> Mapping[str, T]:
    """The tables of a stream by topic; `made` makes one by what had been announced before it."""
    tables: dict[str, T] = {}
    for run in runs:
        arrived: dict[str, list[Record]] = defaultdict(list)
        for record in run:
            arrived[record.at.topic].append(record)
        before = Announced(stream.history, tuple(stream.snapshots))
        stream.add(record for topic in sorted(arrived) for record in arrived[topic])
        now = Announced(stream.history, tuple(stream.snapshots))
        for topic in arrived:
            tables.setdefault(topic, made(topic, before))
        for topic, table in tables.items():
            table.run(arrived[topic], now)
    return tables


def came_to(table: Recorded | TableHistory) -> tuple[object, ...]:
    """What runs have to agree about: why the table stopped, or else all that it has and counts."""
    if table.error is not None:
        return (table.error,)
    counted = {name: getattr(table.counts, name) for name in _COUNTED}
    return None, list(table.versions), counted, table.orphaned_moves
