"""What a record turns out to be: a change of a row, a truncate, a tombstone, or something else."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from strandline.position import Position
from strandline.record import Coordinates
from strandline.version import TimeQuality


class Op(StrEnum):
    """Operations of a change event (Debezium's `Envelope.Operation`), and the tombstone."""

    CREATE = "c"
    UPDATE = "u"
    READ = "r"
    DELETE = "d"
    TRUNCATE = "t"
    TOMBSTONE = "tombstone"


IMAGES = frozenset({Op.CREATE, Op.UPDATE, Op.READ})
ENDS = frozenset({Op.DELETE, Op.TOMBSTONE})


@dataclass(frozen=True, slots=True)
class Time:
    """When a change happened, as well as it is known. `source` is the source's own time, raw."""

    best: datetime
    quality: TimeQuality
    source: datetime | None


@dataclass(frozen=True, slots=True)
class Change:
    """One delivery of a change of one row.

    `key` is canonical JSON. `row` holds the after image of c, u and r; columns in `unset` were not
    sent and have no entry. `identity` is equal for two deliveries of one change (ordering-notes
    §2). `seq` is "" for a tombstone until the link stage has placed it.
    """

    at: Coordinates
    op: Op
    key: str
    seq: str
    position: Position | None
    identity: tuple[object, ...]
    time: Time
    row: dict[str, object] | None = None
    unset: frozenset[str] = frozenset()
    moved_to: str | None = None
    moved_from: str | None = None
    tx_id: str | None = None


@dataclass(frozen=True, slots=True)
class Fence:
    """A truncate of a table: everything before `seq` that is still open ends here."""

    at: Coordinates
    seq: str
    time: Time


@dataclass(frozen=True, slots=True)
class Control:
    """A record that carries no row: transaction marker, notification, schema change, heartbeat."""

    at: Coordinates


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that could not be decoded: a stable word and a sentence for a person."""

    at: Coordinates
    reason: str
    detail: str
