"""Part of stages 1 and 2: what a connector's `source` says of an event."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from strandline.cells.types import ANY, ColumnType, Dialect, from_connect
from strandline.changes import scope
from strandline.changes.change import Op, Time
from strandline.changes.position import Phase, Position
from strandline.changes.record import Record
from strandline.changes.version import TimeQuality
from strandline.connectors import Connector
from strandline.connectors.connector import text
from strandline.errors import UndecodableError

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # no change data capture before that
TOLERANCE = timedelta(days=1)  # how far a source's clock may run before Kafka's
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """The `source` of one event as its connector reads it; without one only the offset orders."""

    connector: Connector | None
    source: Mapping[str, Any]
    positioned: bool = True

    @property
    def snapshot(self) -> bool:
        """A snapshot read: boolean before 1.5, else one of the words (docs/facts/envelopes.md)."""
        return self.source.get("snapshot") not in (None, False, "false")  # may be anything

    @property
    def whole(self) -> bool:
        """A read of a whole table's snapshot, not of an incremental one."""
        return self.snapshot and self.source.get("snapshot") != "incremental"

    def position(self, record: Record) -> Position:
        if self.connector is None or not self.positioned:
            return Position("", f"{record.at.partition}:{record.at.offset}", "")
        return self.connector.position(self.source)

    def fence(self, record: Record) -> Position:
        if self.connector is None or not self.positioned:
            return self.position(record)
        return self.connector.fence(self.source)

    def phase(self, op: Op) -> Phase:
        last = op is Op.READ and self.whole and self.positioned
        return Phase.READ if last and self.connector and self.connector.reads_last else Phase.ROW

    def ordinal(self, transaction: Mapping[str, Any]) -> str | None:
        if self.connector is None or not self.positioned:
            return None
        return self.connector.ordinal(self.source, transaction)

    def identity(self, record: Record) -> tuple[object, ...]:
        """Without a position in it that is a change's own a record is no repetition of another."""
        place = (*record.at.log, record.at.offset)
        if self.connector is None:
            return place
        if not self.positioned:
            try:
                self.connector.position(self.source)
            except UndecodableError:
                return place
            if any(text(self.source.get(name)) is None for name in self.connector.apart):
                return place
        return self.connector.identity(self.source)

    def time(self, record: Record) -> Time:
        """The best time of a change: the source's where it is believable, else Kafka's.

        docs/facts/order.md, "Times".
        """
        kafka = _kafka_time(record)
        if self.connector is None:
            return Time(kafka, TimeQuality.KAFKA, None)
        moment = self.connector.time(self.source, snapshot=self.snapshot)
        latest = kafka + TOLERANCE if kafka >= EARLIEST else _END_OF_TIME  # records may have none
        told = None if moment.quality is TimeQuality.KAFKA else moment.at
        if told is not None and EARLIEST <= told <= latest:
            return Time(told, moment.quality, told)
        return Time(kafka, TimeQuality.KAFKA, moment.at)

    def tx_id(self, transaction: object) -> str | None:
        if self.connector is None:
            return None
        own = self.connector.tx_id(self.source)
        named = transaction.get("id") if isinstance(transaction, dict) else None
        return own or (None if named is None else str(named))

    @property
    def scope(self) -> str | None:
        """The table by the name that the source has for it."""
        parts = () if self.connector is None else self.connector.table(self.source)
        return ".".join(parts) or None

    def scope_in(self, epoch: int, *, mark: str = "") -> str | None:
        """The table of its server, in a lineage of the log; see `strandline.changes.scope`."""
        parts = () if self.connector is None else self.connector.table(self.source)
        if self.connector is None or not parts:
            return None
        name = scope.name(parts, self.connector.tablet(self.source))
        return scope.of(epoch, self.connector_name, name, mark=mark)

    @property
    def connector_name(self) -> str | None:
        """The logical name of the connector that sent it: its topic prefix."""
        return text(self.source.get("name"))

    @property
    def full_before(self) -> bool:
        return self.connector is not None and self.connector.full_before

    @property
    def in_flight(self) -> bool:
        return (
            self.connector is not None and self.positioned and self.connector.in_flight(self.source)
        )

    def unwrap(
        self, row: Mapping[str, Any], *, partial: bool
    ) -> tuple[Mapping[str, Any], frozenset[str]]:
        if self.connector is None:
            return row, frozenset()
        return self.connector.unwrap(row, partial=partial)

    def type_of(self, field: Mapping[str, Any]) -> ColumnType:
        """The type of a column by the schema of its cell."""
        if self.connector is not None:
            field = self.connector.unwrap_schema(field)
        return from_connect(field, self.dialect)

    @property
    def dialect(self) -> Dialect:
        """What its database's values are like."""
        return ANY if self.connector is None else self.connector.dialect


def _kafka_time(record: Record) -> datetime:
    return _EPOCH + timedelta(milliseconds=record.timestamp)
