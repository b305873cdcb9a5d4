"""A capture: what a connector's topics hold of one workload, and the history that it must give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strandline.changes.record import Record
from workloads.choices import Choices
from workloads.database import START, Database, timeline
from workloads.emitters import SOURCES
from workloads.kafka import Broker, Tally
from workloads.model import TABLES
from workloads.telling import tell
from workloads.truth import History, written_down

_APART = 7_200_000_000  # microseconds between the workloads of one pack


@dataclass(frozen=True)
class Capture:
    """`records` in the order in which Kafka stored them; `repeated` follow them after a last death.

    `truth` by topic. `tally` counts `records`, without `repeated`.
    """

    source: str
    number: int
    records: tuple[Record, ...]
    repeated: tuple[Record, ...]
    truth: Mapping[str, History]
    tally: Tally
    steps: Sequence[object]

    def told(self) -> list[str]:
        """The records as lines: topic, partition:offset, what it is."""
        return [tell(record) for record in (*self.records, *self.repeated)]

    def __repr__(self) -> str:
        return f"<workload {self.number} of {self.source}, {len(self.records)} records>"


def captured(choices: Choices, source: str, number: int = 0) -> Capture:
    """A random workload of one source. `number` sets its topics and times apart from others."""
    start = START + number * _APART
    emitter = SOURCES[source](choices, f"w{number:04d}")
    tables = TABLES[: choices.between(1, len(TABLES))]
    steps = timeline(Database(choices, emitter.dialect, tables, now=start))
    messages = emitter.messages(steps)
    broker = Broker(choices, emitter, start // 1000 + 60_000, choices.between(1, 3))
    broker.deliver(messages, crashes=choices.below(3))
    records, tally = tuple(broker.records), Tally(**vars(broker.tally))
    histories = written_down(steps, tables, emitter)
    return Capture(
        source,
        number,
        records,
        broker.repeat(messages),
        {emitter.topic(table): histories[table.name] for table in tables},
        tally,
        steps,
    )


def packed(source: str, count: int, seed: int) -> tuple[list[Capture], list[Record]]:
    """That many workloads, and their records as one stream in which they mingle."""
    captures = [captured(Choices.seeded(seed + n), source, n) for n in range(count)]
    placed = [
        ((index + 0.5) / len(capture.records), record)
        for capture in captures
        for index, record in enumerate(capture.records)
    ]
    placed.sort(key=lambda each: each[0])
    return captures, [record for _, record in placed]
