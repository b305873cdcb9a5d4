"""A record as Kafka stored it: bytes and coordinates, nothing parsed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Where a record lies in Kafka. Unique inside one incarnation of a topic."""

    topic: str
    partition: int
    offset: int


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
