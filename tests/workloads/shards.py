"""A table whose records are cut into shards by chance, run after run, in memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from operator import add
from typing import Any

from strandline.changes.record import Coordinates, Record
from strandline.changes.version import Version
from strandline.connectors import Connector
from strandline.errors import Terminal
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law import Rules, no_rules, rounds, shard
from strandline.law.continuation import Announced, Entry, carried
from strandline.law.facts import Facts, document
from strandline.law.facts.announcements import Announcements
from strandline.law.landed import Landed
from strandline.law.onward import Piece, Runner
from strandline.law.plain import heads
from strandline.law.plain.continued import Heads, Onward
from strandline.law.plain.transit import Transit
from strandline.law.rounds import Extent, Said
from strandline.law.shard import Known, Making, Pile, Told
from strandline.law.table import TableHistory
from strandline.runs.receipt import Counts
from workloads.choices import Choices
from workloads.last import heads as heads_of
from workloads.last import versions as versions_of
from workloads.record import run_after_run

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COUNTED = ("landed", "changes", "duplicates", "control", "quarantined")


@dataclass
class Cut:
    """One table: what is on record of it, and what it has come to."""

    choices: Choices
    making: Making
    announced: Announced
    facts: Facts | None = None
    entered: dict[Coordinates, tuple[Record, Entry, int]] = field(default_factory=dict)
    read_now: Sequence[Record] = ()
    held: list[Record] = field(default_factory=list)
    error: str | None = None
    run_number: int = 0
    versions: dict[str, list[Version]] = field(default_factory=dict)
    found: list[list[Version]] = field(default_factory=list)
    looked_at: set[str] = field(default_factory=set)
    counts: Counts = field(default_factory=Counts)
    orphaned_moves: int = 0
    goes_on: bool = True
    seen: dict[str, str | None] = field(default_factory=dict)
    onward: dict[str, tuple[list[Version], str | None, Counts]] = field(default_factory=dict)
    begun: dict[str, list[Version]] = field(default_factory=lambda: defaultdict(list))
    went_on: int = 0
    read_by: Known = field(init=False)
    on_the_way: dict[Coordinates, tuple[bytes | None, bytes | None]] = field(default_factory=dict)

    def run(self, records: Iterable[Record], now: Announced) -> None:
        """A run onto what is on record; one that fails leaves its records to the next."""
        self.run_number += 1
        arrived = [r for r in records if r.at not in self.entered]
        self.held = list({r.at: r for r in (*self.held, *arrived)}.values())
        before = dict(self.entered)
        try:
            self._apply(self.held, now)
        except Terminal as error:
            self.error, self.entered = str(error), before
            return
        self.held, self.error, self.announced = [], None, now

    def _apply(self, arrived: list[Record], now: Announced) -> None:
        anew = self.facts is None or self.announced != now
        landed = len(arrived)
        if anew:
            self.read_now = [record for record, _, _ in self.entered.values()]
            runs = {at: run for at, (_, _, run) in self.entered.items()}
            was, before = rounds.reading(self, Known(self.making, self.announced))
            self.read_now = [*self.read_now, *arrived]
            then, said = rounds.reading(self, Known(self.making, now))
            nowhere = said.since(before).nowhere
            for at, run in runs.items():
                record, entry, _ = self.entered[at]
                self.entered[at] = record, entry, run
        else:
            was = Known(self.making, now, self.facts or Facts())
            self.read_now = arrived
            then, said = rounds.reading(self, was)
            nowhere = said.nowhere
        done = rounds.folding(self, was, then, said, whole=anew)
        for key in self.looked_at:
            self.versions.pop(key, None)
        for version in (version for own in self.found for version in own):
            assert version.key in self.looked_at
            self.versions.setdefault(version.key, []).append(version)
        own = done.told.counts + done.known.counts - was.counts
        own += Counts(landed=nowhere, quarantined=nowhere)
        assert own.conserved
        assert own.landed == landed
        self.counts += own
        self.orphaned_moves += done.told.orphans
        self.facts = document.read(document.written(carried(done.known.facts)))

    def read(self, known: Known) -> Said:
        """See `rounds.Parts`."""
        said = []
        self.read_by = known
        for batch in dealt(self.choices, self.read_now):
            landed, records = self._landed(batch), {record.at: record for record in batch}
            told = shard.Reader.of(known, hands_on=True).read(landed)
            assert told.transit is not None
            on_the_way = zip(told.transit.row, told.transit.tombstone, strict=True)
            self.on_the_way |= {landed.at(n): each for n, each in enumerate(on_the_way)}
            entries = map(Entry, told.keys, told.others, told.links)
            for n, entry in enumerate(entries):
                self.entered[landed.at(n)] = records[landed.at(n)], entry, self.run_number
            nowhere = sum(told.keys[n] is None for n in told.refused)
            counts = len(landed), len(told.refused), nowhere
            said.append(Said(told.facts, told.lowest, *counts))
        return reduce(add, said, Said())

    def enter(self) -> None:
        """See `rounds.Parts`; it is, while it is read."""

    def derived(self, now: Known, before: Known, extent: Extent) -> Told:
        """See `rounds.Parts`."""
        names = _Names()
        for _, entry, _ in self.entered.values():
            names.join(_of(entry))
        ran = self.run_number
        of_run = {n for _, e, run in self.entered.values() if run == ran for n in _of(e)}
        every = {name for _, entry, _ in self.entered.values() for name in _of(entry)}
        self.onward, told = {}, []
        self.begun.clear()
        is_first = all(run == ran for _, _, run in self.entered.values())
        start = every if extent.whole else of_run
        if self.goes_on and not extent.together and (is_first or not extent.whole):
            start = self._onward(now, extent)
        touched = {names.root(name) for name in start}
        groups: dict[str, list[tuple[Record, int]]] = defaultdict(list)
        for record, entry, run in self.entered.values():
            if entry.key is not None and names.root(entry.key) in touched:
                groups[names.root(entry.key)].append((record, run))
        piles = list(groups.values())
        self.found = []
        for own in [piles] if extent.together else dealt(self.choices, piles):
            records = [each for group in own for each in group]
            pile = Pile(self._landed(record for record, _ in records))
            known = Pile(self._landed(r for r, run in records if run < ran))
            made = shard.derived(now, pile, before, known)
            self.found.append(list(made.versions))
            for key in {version.key for version in made.versions}:
                of = made.versions.standing(key)
                self.seen[key] = None if of is None else heads.seen(of)
            told.append(made.told)
        keys = {entry.key for _, entry, _ in self.entered.values() if entry.key is not None}
        self.looked_at = {key for key in keys if names.root(key) in touched} | (
            self.versions.keys() if extent.whole else set()
        )
        for key, (versions, seen, counts) in self.onward.items():
            if names.root(key) not in touched:
                self.found.append(versions)
                self.looked_at.add(key)
                self.seen[key] = seen
                told.append(Told(counts, facts=Facts(unseen=not versions)))
                self.went_on += 1
        return reduce(add, told, Told())

    def _onward(self, now: Known, extent: Extent) -> set[str]:
        """Has keys go on from their last versions; the others, that are left."""
        if not shard.lie_alike(self.read_by, now):
            self.read(now)
        runner = Runner.of(now, extent.since)
        records: dict[str, list[Record]] = defaultdict(list)
        before: set[str] = set()
        for record, entry, run in self.entered.values():
            if entry.key is not None and run == self.run_number:
                records[entry.key].append(record)
            elif entry.key is not None:
                before.add(entry.key)
        unseen = now.facts.unseen
        left = {k for k in records if unseen and k in before and not self.versions.get(k)}
        left |= records.keys() & {entry.other for _, entry, _ in self.entered.values()}
        keys = records.keys() | (self.versions.keys() if extent.since else set())
        for own in dealt(self.choices, sorted(keys - left)):
            last = [self.versions[key][-1] for key in own if self.versions.get(key)]
            of = heads_of(last, self.seen, runner.view.columns)
            sorted_in = [(key, r) for key in own for r in sorted(records[key], key=_place)]
            for made in runner.run(self._pieces(of, sorted_in)):
                left |= made.left
                self._take(made)
        return left

    def _pieces(self, of: Heads, records: list[tuple[str, Record]]) -> Iterator[Piece]:
        """All of it, but for a large group, of which some pieces come first."""
        start = 0
        count, keys = len(records), [key for key, _ in records]
        if len(set(keys)) == 1 and count > 2:
            start = self.choices.between(1, count - 1)
            while start and records[start][1].value is None:
                start -= 1
        none = Heads({name: [] for name in of.fields}, [[] for _ in of.business], [], [])
        if start:
            yield Piece(of, self._transit(records[:start]), keys[:start], goes_on=True)
        yield Piece(none if start else of, self._transit(records[start:]), keys[start:])

    def _transit(self, records: list[tuple[str, Record]]) -> Transit:
        places = [record.at for _, record in records]
        found = [self.on_the_way[at] for at in places]
        return Transit(
            [at.topic_id for at in places],
            [at.partition for at in places],
            [at.offset for at in places],
            [row for row, _ in found],
            [key for _, key in found],
        )

    def _take(self, made: Onward) -> None:
        versions, seen = versions_of(made, self.making.topic, self.making.recorded_at)
        for key in versions.keys() - set(made.keys):
            self.begun[key] += versions.pop(key)
        for n, key in enumerate(made.keys):
            stood = made.stood[n]
            old = [v for v in self.versions.get(key, ()) if v.seq_from != stood]
            old += self.begun.pop(key, [])
            changes, absorbed = made.changes[n], made.absorbed[n]
            counts = Counts(changes + absorbed, changes, 0, absorbed)
            self.onward[key] = [*old, *versions[key]], seen.get(key), counts

    def _landed(self, records: Iterable[Record]) -> Landed:
        found = Landed(self.making.topic)
        found.add(records)
        return found


def _place(record: Record) -> tuple[str, int, int]:
    return record.at.topic_id, record.at.partition, record.at.offset


class _Names:
    """Which names hang together."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        while (above := self._above.get(name, name)) != name:
            name = above
        return name

    def join(self, names: Sequence[str]) -> None:
        for other in names[1:]:
            if self.root(other) != self.root(names[0]):
                self._above[self.root(other)] = self.root(names[0])


def _of(entry: Entry) -> list[str]:
    return [name for name in (entry.key, entry.other, entry.link) if name]


def dealt(choices: Choices, items: Sequence[Any]) -> list[list[Any]]:
    """The items in a few parts, by chance."""
    parts: dict[int, list[Any]] = defaultdict(list)
    count = choices.between(1, 4)
    for item in items:
        parts[choices.below(count)].append(item)
    return list(parts.values())


def sharded(
    choices: Choices,
    runs: Iterable[Sequence[Record]],
    connector: Connector | None = None,
    moment: datetime = _EPOCH,
    rules: Rules = no_rules,
    schemas: Schemas = NONE,
) -> Mapping[str, Cut]:
    """The tables of a stream by topic, after these runs."""

    def made(topic: str, before: Announced) -> Cut:
        return Cut(choices, Making(topic, connector, rules(topic), moment), before)

    return run_after_run(runs, Announcements(connector, rules, schemas), made)


def came_to(table: Cut | TableHistory) -> tuple[object, ...]:
    """What has to be the same however it is cut: why the table stopped, or all that it has."""
    if table.error is not None:
        return (table.error,)
    counted = {name: getattr(table.counts, name) for name in _COUNTED}
    if isinstance(table, Cut):
        versions = [v for key in sorted(table.versions) for v in table.versions[key]]
        return None, versions, counted, table.orphaned_moves
    return None, list(table.versions), counted, table.orphaned_moves
