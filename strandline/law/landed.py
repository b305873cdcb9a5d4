"""Landed records of one topic as columns, each counted once whatever lands twice."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from strandline.changes.record import Coordinates, Record

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(slots=True)
class Landed:
    """The records of a topic in the order in which they were taken up; a number names each.

    `timestamp` is milliseconds since the epoch; `key` and `value` are None where Kafka has none.
    `topic_id` is that of `Coordinates`.
    """

    topic: str
    partition: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    timestamp: list[int] = field(default_factory=list)
    key: list[bytes | None] = field(default_factory=list)
    value: list[bytes | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)
    topic_id: list[str] = field(default_factory=list)
    seen: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))

    def __len__(self) -> int:
        return len(self.offset)

    def add(self, records: Iterable[Record]) -> range:
        """Takes up the records that are not here yet, by partition and offset; their numbers."""
        start = len(self)
        for record in sorted(records, key=_place):
            at = record.at
            if at.offset in self.seen[at.log]:
                continue
            self.seen[at.log].add(at.offset)
            self.topic_id.append(at.topic_id)
            self.partition.append(at.partition)
            self.offset.append(at.offset)
            self.timestamp.append(record.timestamp)
            self.key.append(record.key)
            self.value.append(record.value)
            self.headers.append(record.headers)
        return range(start, len(self))

    def extend(self, other: "Landed") -> range:
        """Takes up columns that are in order and of which nothing is here yet; their numbers."""
        start = len(self)
        for name in COLUMNS:
            getattr(self, name).extend(getattr(other, name))
        logs = list(zip(other.topic_id, other.partition, strict=True))
        for log in set(logs):
            own = zip(logs, other.offset, strict=True)
            self.seen[log].update(offset for of, offset in own if of == log)
        return range(start, len(self))

    def at(self, number: int) -> Coordinates:
        """Where a record lies."""
        return Coordinates(
            self.topic, self.partition[number], self.offset[number], self.topic_id[number]
        )

    def record(self, number: int) -> Record:
        """One record as a whole."""
        return Record(
            self.at(number),
            self.timestamp[number],
            self.key[number],
            self.value[number],
            self.headers[number],
        )


COLUMNS = tuple(of.name for of in fields(Landed) if of.default_factory is list)


def _place(record: Record) -> tuple[tuple[str, int], int]:
    return record.at.log, record.at.offset
