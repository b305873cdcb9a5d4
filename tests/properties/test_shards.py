"""A table may be cut into shards in any way that keeps names together: their history is one."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import reduce
from operator import add

from workloads import Choices
from workloads.runs import arrivals

from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.law import interpret, rounds, shard
from strandline.law.continuation import Announced, carried, more
from strandline.law.decode.general import Decoder
from strandline.law.facts import NONE, document
from strandline.law.facts.announcements import Announcements
from strandline.law.landed import Landed
from strandline.law.rounds import Said
from strandline.law.shard import Known, Making, Pile, Told
from strandline.runs.receipt import Counts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Cut:
    """The records of a table on record, cut into readers' batches and shards by chance."""

    choices: Choices
    topic: str
    entered: dict = field(default_factory=dict)  # coordinates: record, entry, run
    arrived: list = field(default_factory=list)
    run: int = 0
    versions: dict = field(default_factory=dict)

    def landed(self, records):
        found = Landed(self.topic)
        found.add(records)
        return found

    def read(self, known):
        said = []
        for batch in dealt(self.choices, self.arrived):
            told = shard.read(known, self.landed(batch))
            records = {r.at: r for r in batch}
            landed = self.landed(batch)
            nowhere = 0
            for n, entry in enumerate(told.entries):
                at = landed.at(n)
                self.entered[at] = records[at], entry, self.run
                nowhere += n in told.refused and entry.key is None
            said.append(Said(told.facts, told.lowest, len(landed), nowhere))
        return reduce(add, said, Said())

    def derived(self, now, before, extent):
        names = Names()
        for _, entry, _ in self.entered.values():
            names.join([n for n in (entry.key, entry.other, entry.link) if n])
        touched = {
            names.root(n)
            for _, entry, run in self.entered.values()
            if run == self.run or extent.whole
            for n in (entry.key, entry.other, entry.link)
            if n
        }
        groups = defaultdict(list)
        for record, entry, run in self.entered.values():
            if entry.key and names.root(entry.key) in touched:
                groups[names.root(entry.key)].append((record, run))
        several = (
            [list(groups.values())]
            if extent.together
            else dealt(self.choices, list(groups.values()))
        )
        told = []
        self.found = []
        for own in several:
            records = [each for group in own for each in group]
            every = Pile(self.landed(r for r, _ in records))
            old = Pile(self.landed(r for r, run in records if run < self.run))
            made = shard.derived(now, every, before, old)
            self.found.append(list(made.versions))
            told.append(made.told)
        self.looked_at = {
            entry.key
            for _, entry, _ in self.entered.values()
            if entry.key and names.root(entry.key) in touched
        }
        return reduce(add, told, Told())


class Names:
    def __init__(self):
        self.above = {}

    def root(self, name):
        while (above := self.above.get(name, name)) != name:
            name = above
        return name

    def join(self, names):
        for other in names[1:]:
            self.above[self.root(other)] = self.root(names[0])


def dealt(choices, items):
    parts = defaultdict(list)
    count = choices.between(1, 4)
    for item in items:
        parts[choices.below(count)].append(item)
    return list(parts.values())


def histories(choices, source, batches):
    """The versions, counts and orphans of each table of a workload whose runs are cut."""
    connector = CONNECTORS[source]
    announced = Announcements(connector, lambda _: TableRules())
    tables, facts, was = {}, {}, None
    counts, orphans = defaultdict(Counts), defaultdict(int)
    for number, batch in enumerate(batches, 1):
        by_topic = defaultdict(list)
        for record in batch:
            by_topic[record.at.topic].append(record)
        announced.add(batch)
        now = Announced(announced.history, tuple(announced.snapshots))
        for topic in sorted(by_topic.keys() | tables.keys()):
            cut = tables.setdefault(topic, Cut(choices, topic))
            new = [r for r in by_topic[topic] if r.at not in cut.entered]
            making = Making(topic, connector, TableRules(), _EPOCH)
            known = facts.get(topic)
            anew = known is None or was != now
            cut.run = number
            if anew:
                every = [r for r, _, run in cut.entered.values()]
                cut.arrived = every
                runs = {at: run for at, (_, _, run) in cut.entered.items()}
                old, _ = rounds.reading(cut, Known(making, was or now))
                cut.arrived = [*every, *new]
                then, said = rounds.reading(cut, Known(making, now))
                for at, run in runs.items():
                    cut.entered[at] = (*cut.entered[at][:2], run)
            else:
                old = Known(making, now, known)
                cut.arrived = new
                then, said = rounds.reading(cut, old)
            done = rounds.folding(cut, old, then, said, whole=anew)
            keys = cut.looked_at
            for key in keys:
                cut.versions.pop(key, None)
            for found in cut.found:
                for version in found:
                    cut.versions.setdefault(version.key, []).append(version)
            own = more(done.told.counts, less(done.known.counts, old.counts))
            counts[topic] = more(counts[topic], own)
            orphans[topic] += done.told.orphans
            facts[topic] = document.read(document.written(carried(done.known.facts)))
        was = now
    return tables, counts, orphans


def less(one, other):
    return Counts(**{n: getattr(one, n) - getattr(other, n) for n in Counts.__slots__})


def test_readers_and_shards_make_the_history_of_one_process(source, seeds):
    for seed, batches in arrivals(source, seeds):
        tables, counts, orphans = histories(Choices.seeded(seed), source, batches)
        law = interpret([r for batch in batches for r in batch], CONNECTORS[source])
        for table in law.tables:
            if table.error is not None:
                continue
            cut = tables[table.topic]
            found = [v for key in sorted(cut.versions) for v in cut.versions[key]]
            assert found == list(table.versions), (seed, table.topic)
            assert orphans[table.topic] == table.orphaned_moves, (seed, table.topic)
            assert counts[table.topic].changes == table.counts.changes, (seed, table.topic)
            assert counts[table.topic].duplicates == table.counts.duplicates, (seed, table.topic)
            assert counts[table.topic].control == table.counts.control, (seed, table.topic)
