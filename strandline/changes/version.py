"""A version: one row of a history table, and the columns that every history has.

docs/reading-history.md says what each column means.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from strandline.changes.columns import (
    CLOSED_BY,
    ENTITY_ID,
    IS_CURRENT,
    IS_HEAD,
    KEY,
    MOVED_FROM,
    MOVED_TO,
    OFFSET,
    OP,
    PARTITION,
    POSITION,
    RECORDED_AT,
    SCOPE,
    SEQ_FROM,
    SEQ_SEEN,
    SEQ_TO,
    SOURCE_TS,
    TOPIC,
    TS_QUALITY,
    TX_ID,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
)


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
    (VALID_FROM, "timestamp"),
    (VALID_TO, "timestamp"),
    (IS_CURRENT, "boolean"),
    (SEQ_FROM, "string"),
    (SEQ_TO, "string"),
    (POSITION, "string"),
    (OP, "string"),
    (CLOSED_BY, "string"),
    (MOVED_FROM, "string"),
    (MOVED_TO, "string"),
    (ENTITY_ID, "string"),
    (TX_ID, "string"),
    (SOURCE_TS, "timestamp"),
    (TS_QUALITY, "string"),
    (UNAVAILABLE, "array<string>"),
    (TOPIC, "string"),
    (PARTITION, "int"),
    (OFFSET, "bigint"),
    (RECORDED_AT, "timestamp"),
)

# Columns of the Delta table that serve the engine, not the reader: the canonical key as JSON text,
# the physical table, whether the row is the last version of its key (the partition), and the
# highest position that the key has shown, be it of a change that changed nothing.
INTERNAL_COLUMNS: tuple[tuple[str, str], ...] = (
    (KEY, "string"),
    (SCOPE, "string"),
    (IS_HEAD, "boolean"),
    (SEQ_SEEN, "string"),
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
            VALID_FROM: self.valid_from,
            VALID_TO: self.valid_to,
            IS_CURRENT: self.seq_to is None,
            SEQ_FROM: self.seq_from,
            SEQ_TO: self.seq_to,
            POSITION: self.position,
            OP: self.op,
            CLOSED_BY: self.closed_by,
            MOVED_FROM: self.moved_from,
            MOVED_TO: self.moved_to,
            ENTITY_ID: self.entity_id,
            TX_ID: self.tx_id,
            SOURCE_TS: self.source_ts,
            TS_QUALITY: self.ts_quality,
            UNAVAILABLE: list(self.unavailable),
            TOPIC: self.topic,
            PARTITION: self.partition,
            OFFSET: self.offset,
            RECORDED_AT: self.recorded_at,
        }
