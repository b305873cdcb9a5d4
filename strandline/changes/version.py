"""A version: one row of a history table, and the columns that every history has.

docs/reading-history.md says what each column means.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ClosedBy(StrEnum):
    """What ended a version."""

    UPDATE = "update"
    DELETE = "delete"
    TRUNCATE = "truncate"
    KEY_MOVE = "key_move"
    TOMBSTONE = "tombstone"
    SNAPSHOT_ABSENT = "snapshot_absent"
    SNAPSHOT_CORRECTION = "snapshot_correction"


class TimeQuality(StrEnum):
    """How far `_valid_from` can be trusted (docs/facts/order.md, "Times")."""

    COMMIT = "commit"  # the commit time of the source
    BEGIN = "begin"  # the begin of the transaction
    CHANGE = "change"  # the time of the change inside its transaction
    STATEMENT = "statement"  # the start of the statement, in whole seconds
    SNAPSHOT = "snapshot"  # the time of a snapshot read: the row is older
    KAFKA = "kafka"  # the source had no believable time: Kafka's, of the first delivery
    CLAMPED = "clamped"  # raised to the key's previous time: clocks ran backwards


# Name and Spark type of the columns after the business columns, in their order.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("_valid_from", "timestamp"),
    ("_valid_to", "timestamp"),
    ("_is_current", "boolean"),
    ("_seq_from", "string"),
    ("_seq_to", "string"),
    ("_position", "string"),
    ("_op", "string"),
    ("_closed_by", "string"),
    ("_moved_from", "string"),
    ("_moved_to", "string"),
    ("_entity_id", "string"),
    ("_tx_id", "string"),
    ("_source_ts", "timestamp"),
    ("_ts_quality", "string"),
    ("_unavailable", "array<string>"),
    ("_topic", "string"),
    ("_partition", "int"),
    ("_offset", "bigint"),
    ("_recorded_at", "timestamp"),
)

# Columns of the Delta table that serve the engine, not the reader: the canonical key as JSON text,
# the physical table, whether the row is the last version of its key (the partition), and the
# highest position that the key has shown, be it of a change that changed nothing.
INTERNAL_COLUMNS: tuple[tuple[str, str], ...] = (
    ("_key", "string"),
    ("_scope", "string"),
    ("_is_head", "boolean"),
    ("_seq_seen", "string"),
)


@dataclass(frozen=True, slots=True)
class Version:
    """One row of a history: what a key was in `[valid_from, valid_to)`.

    Positions are `_seq` texts (see `changes.position`); `row` maps business columns to values;
    `key`, `moved_from` and `moved_to` are keys as canonical JSON. Times are aware, in UTC.
    """

    key: str
    row: dict[str, object]
    valid_from: datetime
    valid_to: datetime | None
    seq_from: str
    seq_to: str | None
    position: str
    op: str
    closed_by: ClosedBy | None
    moved_from: str | None
    moved_to: str | None
    entity_id: str
    tx_id: str | None
    source_ts: datetime | None
    ts_quality: TimeQuality
    topic: str
    partition: int
    offset: int
    recorded_at: datetime
    unavailable: tuple[str, ...] = field(default=())

    def cells(self) -> dict[str, object]:
        """The row as its table has it: business columns, then `COLUMNS`."""
        return {
            **self.row,
            "_valid_from": self.valid_from,
            "_valid_to": self.valid_to,
            "_is_current": self.seq_to is None,
            "_seq_from": self.seq_from,
            "_seq_to": self.seq_to,
            "_position": self.position,
            "_op": self.op,
            "_closed_by": self.closed_by,
            "_moved_from": self.moved_from,
            "_moved_to": self.moved_to,
            "_entity_id": self.entity_id,
            "_tx_id": self.tx_id,
            "_source_ts": self.source_ts,
            "_ts_quality": self.ts_quality,
            "_unavailable": list(self.unavailable),
            "_topic": self.topic,
            "_partition": self.partition,
            "_offset": self.offset,
            "_recorded_at": self.recorded_at,
        }
