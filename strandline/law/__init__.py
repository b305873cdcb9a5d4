"""The law: what the history of a table is, written down once.

> history(key) = fold(the distinct changes of the key and the truncate fences of its table,
> in source-log order)

`decode` makes of each record a row, a fence, a control record or one for quarantine, and `facts` of
all that rows of a table must know of each other. `group` folds the keys that have something to say
about each other: `distinct` (of the deliveries of one change the first stays), `link` (changes
become the lives of rows, truncates end them, key moves join them), `fold` (lives become versions).
`table` does so run after run; here a stream of several tables is taken through its runs.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from strandline.changes.change import Quarantined
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.connectors import Connector
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law.decode.general import Decoder
from strandline.law.facts import document
from strandline.law.facts.announcements import Announcements, Rules
from strandline.law.table import Stages, Table, TableHistory
from strandline.runs.receipt import Counts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_RULES = TableRules()


def no_rules(topic: str) -> TableRules:
    """What is said of a table where no source file is."""
    del topic
    return _NO_RULES


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a stream, the records that could not be read, and law 6 over all of it."""

    tables: list[TableHistory]
    quarantined: list[Quarantined]
    counts: Counts


@dataclass(slots=True)
class Stream:
    """The records of a source in one process, run after run.

    `connector` None: the one that the records name. `rules`: those of a topic's table. A record
    that was landed twice (same coordinates) counts once. Without `typed` the general decoder reads
    everything, and nothing is folded as plain: slower, and it can be explained. `schemas` are those
    that records may name by an id.
    """

    connector: Connector | None = None
    rules: Rules = no_rules
    recorded_at: datetime = _EPOCH
    typed: bool = True
    schemas: Schemas = NONE
    tables: dict[str, Table] = field(default_factory=dict)
    announced: Announcements = field(init=False)
    found: dict[str, TableHistory] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.announced = Announcements(self.connector, self.rules, self.schemas)

    def run(self, records: Iterable[Record]) -> None:
        """Folds what arrived, in any order that Kafka can produce, into the tables' histories."""
        arrived: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            arrived[record.at.topic].append(record)
        self.announced.add(record for topic in sorted(arrived) for record in arrived[topic])
        for topic in sorted(arrived):
            table = self.table(topic)
            self.landed(topic, table.plain.landed.add(arrived[topic]))
        for topic in sorted(self.tables.keys() - arrived.keys()):
            self.landed(topic, range(0))

    def landed(self, topic: str, numbers: range) -> None:
        """Folds the records of a topic that its table has landed with these numbers."""
        table = self.table(topic)
        table.run(numbers, self.announced.history, self.announced.snapshots)
        self.found[topic] = table.history()

    def carry(self) -> None:
        """Hands what is known of each table to the next run, as another process would get it."""
        for table in self.tables.values():
            table.records.facts = document.read(document.written(table.records.facts))

    def table(self, topic: str) -> Table:
        """The table that a topic feeds."""
        if topic not in self.tables:
            decoder = Decoder(self.connector, self.rules(topic), self.announced.history)
            self.tables[topic] = Table.of(topic, decoder, self.recorded_at, typed=self.typed)
        return self.tables[topic]

    def histories(self) -> Histories:
        """What all runs came to."""
        found = [self.found[topic] for topic in sorted(self.found)]
        refused = (q for table in self.tables.values() for q in table.records.refused.values())
        return Histories(
            tables=[history for history in found if history.counts.changes or history.error],
            quarantined=sorted(refused, key=lambda q: (q.at.topic, q.at.log, q.at.offset)),
            counts=total(history.counts for history in found),
        )


def interpret(  # noqa: PLR0913 - what a stream is made of
    records: Iterable[Record],
    connector: Connector | None = None,
    recorded_at: datetime = _EPOCH,
    rules: Rules = no_rules,
    *,
    typed: bool = True,
    schemas: Schemas = NONE,
) -> Histories:
    """The histories of records that arrive in one run."""
    return in_runs((tuple(records),), connector, recorded_at, rules, typed=typed, schemas=schemas)


def in_runs(  # noqa: PLR0913 - what a stream is made of
    runs: Iterable[Iterable[Record]],
    connector: Connector | None = None,
    recorded_at: datetime = _EPOCH,
    rules: Rules = no_rules,
    *,
    typed: bool = True,
    schemas: Schemas = NONE,
) -> Histories:
    """The histories of records that arrive in several runs, each of which goes on from the last."""
    stream = Stream(connector, rules, recorded_at, typed, schemas)
    for records in runs:
        stream.carry()
        stream.run(records)
    return stream.histories()


def total(counts: Iterable[Counts]) -> Counts:
    """The sum, number by number."""
    return sum(counts, start=Counts())


__all__: Sequence[str] = (
    "Histories",
    "Rules",
    "Stages",
    "Stream",
    "TableHistory",
    "in_runs",
    "interpret",
    "no_rules",
    "total",
)
