"""A record as Kafka stored it: bytes and coordinates, nothing parsed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where a record lies in Kafka.

    `topic_id` tells incarnations of a topic apart, whose offsets each begin anew, and what a
    backfill landed once more (`strandline.runs.segment.again`); "" where there is only one.
    """

    topic: str
    partition: int
    offset: int
    topic_id: str = ""

    @property
    def log(self) -> tuple[str, int]:
        """The partition of its incarnation: inside one log offsets are the order of writing."""
        return self.topic_id, self.partition

    @property
    def order(self) -> tuple[int, int, str]:
        """By offset: the order of one log, and nearly that of arrival in all."""
        return self.offset, self.partition, self.topic_id


@dataclass(frozen=True, slots=True)
class Record:
    """One Kafka record.

    `timestamp` is milliseconds since the epoch. `value` None is a tombstone; `key` None is a record
    without a key. Header names may repeat (Kafka allows it), hence pairs.
    """

    at: Coordinates
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    def header(self, name: str) -> bytes | None:
        """The last header of that name, or None (Connect's `lastWithName`)."""
        found = None
        for header, value in self.headers:
            if header == name:
                found = value
        return found
