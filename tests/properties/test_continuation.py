"""Runs that take only the groups that they touch from what is on record make the same history."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from workloads.runs import arrivals

from strandline.changes.rules import TableRules
from strandline.errors import Terminal
from strandline.law import continuation, interpret, total
from strandline.law.continuation import Announced
from strandline.law.decode.general import Decoder
from strandline.law.facts import document
from strandline.law.facts.announcements import Announcements
from strandline.law.plain.keys import PlainKeys
from strandline.law.records import Records
from strandline.law.table import Table


@dataclass
class Lake:
    """What is on record of one table, in memory; `held` are records of runs that failed."""

    topic: str
    announced: Announced
    document: bytes | None = None
    entries: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)
    counts: list = field(default_factory=list)
    orphans: int = 0
    held: list = field(default_factory=list)
    error: str | None = None
    looked_at: int = 0

    @property
    def facts(self):
        return None if self.document is None else document.read(self.document)

    def of(self, keys, links):
        named = [(r, {e.key, e.other}, e.link) for r, e in self.entries.values()]
        found = [r for r, own, link in named if own & keys or link in links]
        self.looked_at += len(found)
        return found

    def every(self):
        found = [record for record, _ in self.entries.values()]
        self.looked_at += len(found)
        return found

    def made(self, history):
        decoder = Decoder(None, TableRules(), history)
        return Table(
            self.topic, TableRules(), MOMENT, Records(decoder), PlainKeys.of(self.topic, decoder)
        )

    def run(self, records, now):
        arrived = [*self.held, *(r for r in records if r.at not in self.entries)]
        arrived = list({record.at: record for record in arrived}.values())
        try:
            found = continuation.run(self.made, self, arrived, now)
        except Terminal as error:
            self.held, self.error = arrived, str(error)
            return
        self.held, self.error, self.announced = [], None, now
        self.document = document.written(found.facts)
        self.entries |= {record.at: (record, found.entries[record.at]) for record in arrived}
        for version in found.former:
            assert self.versions.pop((version.key, version.seq_from))
        for version in found.found.versions:
            assert (version.key, version.seq_from) not in self.versions
            self.versions[version.key, version.seq_from] = version
        self.counts.append(found.counts)
        self.orphans += found.orphaned_moves


def carried_on(runs):
    """The tables of a stream after these runs, each from what is on record."""
    announcements, tables = Announcements(None, lambda _: TableRules()), {}
    for run in runs:
        arrived = defaultdict(list)
        for record in run:
            arrived[record.at.topic].append(record)
        before = Announced(announcements.history, tuple(announcements.snapshots))
        announcements.add(r for topic in sorted(arrived) for r in arrived[topic])
        now = Announced(announcements.history, tuple(announcements.snapshots))
        for topic in sorted(arrived):
            tables.setdefault(topic, Lake(topic, before))
        for topic in sorted(tables):
            tables[topic].run(arrived[topic], now)
    return tables


def test_runs_that_look_at_touched_groups_only_make_the_history_of_one_run(source, seeds):
    for seed, runs in arrivals(source, seeds):
        one = interpret([record for run in runs for record in run])
        tables = carried_on(runs)
        for table in one.tables:
            lake = tables[table.topic]
            assert lake.error == table.error, seed
            if table.error is None:
                found = sorted(lake.versions.values(), key=lambda v: (v.key, v.seq_from))
                assert [v.seq_from for v in found] == [v.seq_from for v in table.versions], seed
                shown = [{**v.row} for v in found]
                assert found == list(table.versions), (seed, shown)
                assert counted(lake.counts) == counted([table.counts]), seed
                assert lake.orphans == table.orphaned_moves, seed


def counted(counts):
    return {
        name: getattr(total(counts), name)
        for name in ("landed", "changes", "duplicates", "control", "quarantined", "history_rows")
    }


MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
