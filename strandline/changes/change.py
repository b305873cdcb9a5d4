"""What a record turns out to be: a change of a row, a truncate, a tombstone, or something else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from strandline.changes import scope as scopes
from strandline.changes.image import Image
from strandline.changes.position import Local, Position
from strandline.changes.record import Coordinates
from strandline.changes.version import TimeQuality


class Op(StrEnum):
    """Operations of a change event (Debezium's `Envelope.Operation`), and two that it has not.

    A tombstone has no envelope. What a reconciliation did not find is absent, and no connector
    sends that.
    """

    CREATE = "c"
    UPDATE = "u"
    READ = "r"
    DELETE = "d"
    TRUNCATE = "t"
    TOMBSTONE = "tombstone"
    ABSENT = "absent"


# What the `op` of an event may say; a logical message's says that it is of no row.
SENT = frozenset(Op) - {Op.TOMBSTONE, Op.ABSENT}
MESSAGE = "m"

IMAGES = frozenset({Op.CREATE, Op.UPDATE, Op.READ})
STREAMED = IMAGES - {Op.READ}
ENDS = frozenset({Op.DELETE, Op.TOMBSTONE, Op.ABSENT})


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
    sent and have no entry; columns in `unheld` have a value that is not known, since their type
    cannot hold it, or since the stream never has it.
    `identity` is equal for two deliveries of one change (docs/facts/order.md, "Identity of a
    change"). `seq` is "" for a tombstone until the distinct stage has placed it. `before`
    and `after` are the images that tell rows apart, None where absent; `certain` is what a `before`
    says for certain, None for nothing: in the rest something may stand in for what is not in the
    log. `scope` is that of `changes.scope`, `emitted` the envelope's own time in milliseconds.
    `whole`: a read of a whole table's snapshot. `in_flight`: of a transaction that may have been
    open when a snapshot was taken. `ordinal` tells changes of one identity apart, where deliveries
    have one. `connector_run` changes whenever the connector starts. `connector_name` is the logical
    one (topic prefix). `stored` is Kafka's time in milliseconds. `outdated`: a read that says less
    than what was streamed before it.
    """

    at: Coordinates
    op: Op
    key: str
    seq: str
    position: Position | None
    identity: tuple[object, ...]
    time: Time
    row: Mapping[str, object] | None = None
    unset: frozenset[str] = frozenset()
    unheld: frozenset[str] = frozenset()
    moved_to: str | None = None
    moved_from: str | None = None
    tx_id: str | None = None
    before: Image | None = None
    certain: Image | None = None
    after: Image | None = None
    scope: str | None = None
    emitted: int | None = None
    whole: bool = False
    in_flight: bool = False
    ordinal: str | None = None
    connector_run: str | None = None
    connector_name: str | None = None
    stored: int = 0
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """A truncate of a table, or the end of a snapshot: what is open before `seq` ends here.

    `scope` names the physical table; None fences every row of the topic. A `sweep` spares the keys
    that the snapshot read. `stored` is Kafka's time in milliseconds: a truncate has no key, so that
    the offsets of its deliveries do not compare.
    """

    at: Coordinates
    seq: str
    time: Time
    scope: str | None = None
    sweep: bool = False
    position: Position | None = None
    tx_id: str | None = None
    in_flight: bool = False
    stored: int = 0

    @property
    def local(self) -> Local | None:
        """The place in the log of its shard, where nothing else orders it."""
        return None if self.position is None else self.position.local

    def concerns(self, scope: str | None) -> bool:
        """True for the rows of that physical table; where either is not known, for all."""
        return self.scope is None or scope is None or scopes.concerns(self.scope, scope)


@dataclass(frozen=True, slots=True)
class Control:
    """A record that carries no row: transaction marker, notification, schema change, heartbeat."""

    at: Coordinates
    payload: Mapping[str, object] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A record that could not be decoded: a stable word and a sentence for a person.

    `schemas` are the ids of which nobody knows any, where that is why.
    """

    at: Coordinates
    reason: str
    detail: str
    key: str | None = None  # canonical, where it could be read
    schemas: tuple[str, ...] = ()
