"""What the brokers of examples and tests have in common: topics, and records replayed into them."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from examples.replay import send
from strandline.changes.record import Record


class Broker(ABC):
    """A broker for as long as its `with` block lasts; `bootstrap` is its address."""

    bootstrap: str

    def __init__(self) -> None:
        self._topics: set[str] = set()

    def __enter__(self) -> Self:
        self._begin()
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._producer.flush(5)
        self._end()

    @abstractmethod
    def _begin(self) -> None:
        """Starts the broker, and says where it is."""

    @abstractmethod
    def _end(self) -> None:
        """Stops the broker, and what it had is gone."""

    def _open(self) -> None:
        self._producer = Producer(
            {"bootstrap.servers": self.bootstrap, "linger.ms": 5, "log_level": 0}
        )

    @abstractmethod
    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Creates the topic with an id of its own; ValueError where it exists."""

    def create_topics_of(self, records: Iterable[Record]) -> None:
        """Creates every topic of the records, with as many partitions as they use."""
        partitions: Counter[str] = Counter()
        for record in records:
            used = record.at.partition + 1
            partitions[record.at.topic] = max(partitions[record.at.topic], used)
        for name, count in sorted(partitions.items()):
            self.create_topic(name, count)

    def replay(self, records: Iterable[Record]) -> int:
        """Produces the records as they are, each to its own partition; returns how many.

        Timestamp, headers, key and value arrive unchanged; the offset is what the broker gives, so
        it is the record's own where a partition is replayed whole and in order. Raises ValueError
        for a topic that was not created here (the broker would make one up, with four partitions).
        """
        return send(self._producer, map(self._known, records))

    def _known(self, record: Record) -> Record:
        if record.at.topic not in self._topics:
            raise ValueError(f"topic {record.at.topic} was not created")
        return record
