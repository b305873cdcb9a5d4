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
from strandline.law import Rules, increment, no_rules, total
from strandline.law.continuation import Announced, Entered, Entry, Run
from strandline.law.facts import Facts, document
from strandline.law.facts.announcements import Announcements
from strandline.law.plain import heads
from strandline.law.plain.continued import Heads
from strandline.law.shard import Making
from strandline.law.table import TableHistory
from strandline.law.versions import Versions
from strandline.runs.receipt import Counts
from workloads.last import heads as heads_of
from workloads.last import versions

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
    seen: dict[str, str | None] = field(default_factory=dict)
    went_on: int = 0
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

    def named(self, keys: Iterable[str], others: Iterable[str]) -> set[str]:
        entries = [entry for _, entry in self.entries.values()]
        beside = {*keys, *others} & {entry.other for entry in entries}
        return ({*keys} & {entry.key for entry in entries}) | beside

    def run(self, records: Iterable[Record], now: Announced) -> None:
        new = (record for record in records if record.at not in self.entries)
        arrived = list({record.at: record for record in (*self.held, *new)}.values())
        try:
            found = increment.run(self._making, self, Last(self), arrived, now)
        except Terminal as error:
            self.held, self.error = arrived, str(error)
            return
        self.held, self.error, self.announced = [], None, now
        self.document = document.written(found.facts)
        self.entries |= {record.at: (record, entry) for record, entry in found.entered}
        self._take(found)
        self.counts = total([self.counts, found.counts])
        self.orphaned_moves += found.orphaned_moves

    def _take(self, found: Run) -> None:
        assert isinstance(found.found.versions, Versions)
        for key in found.keys:
            of = found.found.versions.standing(key)
            self.seen[key] = None if of is None else heads.seen(of)
        kept = {place: of for place, of in self.history.items() if of.key not in found.keys}
        self._add(kept, found.found.versions)
        if found.onward is None:
            return
        made, known = found.onward, len(self.history)
        for key, stood in zip(made.keys, made.stood, strict=True):
            assert key not in found.keys
            if stood is not None:
                del self.history[key, stood]
        came, seen = versions(made, self.topic, _MOMENT)
        self._add(self.history, (version for own in came.values() for version in own))
        self.seen |= seen
        self.counts += Counts(history_rows=len(self.history) - known)
        self.went_on += len(made.keys)

    def _add(self, kept: dict[tuple[str, str], Version], came: Iterable[Version]) -> None:
        new = {(version.key, version.seq_from): version for version in came}
        if kept.keys() & new.keys():
            raise AssertionError(f"{self.topic}: a version is of a key that nobody looked at")
        self.history = kept | new

    @property
    def _making(self) -> Making:
        return Making(self.topic, self.connector, self.rules(self.topic), _MOMENT)


@dataclass
class Last:
    """The last versions of the keys of a table."""

    table: Recorded

    def of(self, keys: Iterable[str], columns: Iterable[str]) -> Heads:
        last = {version.key: version for version in self.table.versions}
        own = [last[key] for key in sorted(keys) if key in last]
        return heads_of(own, self.table.seen, columns)


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
