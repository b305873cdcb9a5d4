"""Stages 1 and 2, decode and position.

A record becomes a change, a fence, a control record, or goes to quarantine. Sources: debezium-facts
§2 (envelopes), §3 (types).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from strandline import connect, values
from strandline.change import IMAGES, Change, Control, Fence, Op, Quarantined, Time
from strandline.connect import Document
from strandline.connectors import CONNECTORS, Connector
from strandline.errors import UndecodableError
from strandline.key import canonical
from strandline.position import fence_seq, seq
from strandline.record import Record
from strandline.types import TEXT, ColumnType, Kind, Wire
from strandline.version import TimeQuality

NEW_KEY = "__debezium.newkey"
OLD_KEY = "__debezium.oldkey"
PLACEHOLDER = "__debezium_unavailable_value"
UNAVAILABLE = {PLACEHOLDER, "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="}
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # no change data capture before that
TOLERANCE = timedelta(days=1)  # how far a source's clock may run before Kafka's

# A document with any of these and without `op` is Debezium's own bookkeeping (debezium-facts §2.7,
# §2.8): schema changes, transaction markers, notifications, heartbeats.
_CONTROL_FIELDS = ({"ddl"}, {"tableChanges"}, {"status", "id"}, {"aggregate_type"}, {"ts_ms"})


@dataclass(frozen=True, slots=True)
class Decoded:
    """A row change together with the column types that its schema declared."""

    change: Change
    columns: Mapping[str, ColumnType]


Outcome = Decoded | Fence | Control | Quarantined


def decode(record: Record, connector: Connector | None = None) -> Outcome:
    """What the record is. `connector` None: the one that its `source` names."""
    try:
        if record.value is None:
            return _tombstone(record)
        document = connect.parse(record.value, "value")
        if document.payload is None:
            return _tombstone(record)
        return _document(record, document, connector)
    except UndecodableError as error:
        return Quarantined(record.at, error.reason, error.detail)


def _document(record: Record, document: Document, connector: Connector | None) -> Outcome:
    envelope = document.payload
    if not isinstance(envelope, dict):
        raise UndecodableError("not_an_envelope", "the value is JSON, but no object")
    if "op" not in envelope:
        if any(names <= envelope.keys() for names in _CONTROL_FIELDS):
            return Control(record.at)
        raise UndecodableError("not_an_envelope", "the value has no field 'op'")
    if envelope["op"] == "m":
        return Control(record.at)
    try:
        op = Op(envelope["op"])
    except ValueError as error:
        raise UndecodableError("unknown_op", f"op is {envelope['op']!r}") from error
    source = envelope.get("source")
    if not isinstance(source, dict):
        raise UndecodableError("no_source", "the envelope has no 'source'")
    known = connector or CONNECTORS.get(str(source.get("connector")))
    if known is None:
        raise UndecodableError(
            "unknown_connector",
            f"source.connector is {source.get('connector')!r}; "
            f"known are {', '.join(sorted(CONNECTORS))}",
        )
    if op is Op.TRUNCATE:
        position = known.position(source)
        return Fence(record.at, fence_seq(position.major), _time(record, source, known))
    return _row_change(record, document, Op(op), known)


def _row_change(record: Record, document: Document, op: Op, connector: Connector) -> Decoded:
    envelope, source = document.payload, document.payload["source"]
    key, key_types = _key(record)
    types = connect.row_types(document.schema)
    snapshot = is_snapshot(source)
    if op is Op.CREATE and snapshot:
        op = Op.READ  # the ReadToInsertEvent transform renames them (debezium-facts §2.12)
    after = envelope.get("after")
    if op in IMAGES and not isinstance(after, dict):
        raise UndecodableError("no_image", f"op is {op.value!r}, but 'after' holds no row")
    row, unset = _row(after, types) if op in IMAGES else (None, frozenset())
    position = connector.position(source)
    moved_to = _header(record, NEW_KEY, key_types) if op is Op.DELETE else None
    moved_from = _header(record, OLD_KEY, key_types) if op is Op.CREATE else None
    change = Change(
        at=record.at,
        op=op,
        key=key,
        seq=seq(position.major, record.at.offset),
        position=position,
        identity=(
            *connector.identity(source),
            op,
            moved_to,
            moved_from,
            values.compact(envelope.get("before")),
            values.compact(after),
        ),
        time=_time(record, source, connector),
        row=row,
        unset=unset,
        moved_to=moved_to,
        moved_from=moved_from,
        tx_id=connector.tx_id(source),
    )
    return Decoded(
        change, types or {name: _json_type(value) for name, value in (row or {}).items()}
    )


def _tombstone(record: Record) -> Outcome:
    key, _ = _key(record)
    time = Time(_kafka_time(record), TimeQuality.KAFKA, None)
    change = Change(record.at, Op.TOMBSTONE, key, "", None, (), time)
    return Decoded(change, {})


def is_snapshot(source: Mapping[str, Any]) -> bool:
    """True for a snapshot read: boolean before 1.5, else one of the words (debezium-facts §1.0)."""
    return source.get("snapshot") not in {None, False, "false"}


def _key(record: Record) -> tuple[str, Mapping[str, ColumnType]]:
    if record.key is None:
        raise UndecodableError(
            "no_key", "the record has no key: a table needs a primary key or message.key.columns"
        )
    document = connect.parse(record.key, "key")
    if not isinstance(document.payload, dict) or not document.payload:
        raise UndecodableError("no_key", "the key holds no columns")
    types = connect.column_types(document.schema)
    return _canonical(document.payload, types, "key"), types


def _header(record: Record, name: str, types: Mapping[str, ColumnType]) -> str | None:
    """The other key of a move; spelt by the header converter, hence compared after decoding."""
    data = record.header(name)
    if data is None:
        return None
    document = connect.parse(data, f"header {name}")
    if not isinstance(document.payload, dict):
        raise UndecodableError("bad_header", f"the header {name} holds no key")
    return _canonical(document.payload, types, f"header {name}")


def _canonical(cells: Mapping[str, Any], types: Mapping[str, ColumnType], what: str) -> str:
    return canonical(
        {name: _value(value, types.get(name), f"{what}.{name}") for name, value in cells.items()}
    )


def _row(
    after: Mapping[str, Any], types: Mapping[str, ColumnType]
) -> tuple[dict[str, object], frozenset[str]]:
    """The typed cells that were sent, and the columns that were not: TOAST, LOB placeholders."""
    unset = frozenset(
        name for name, value in after.items() if isinstance(value, str) and value in UNAVAILABLE
    )
    row = {
        name: _value(value, types.get(name), f"after.{name}")
        for name, value in after.items()
        if name not in unset
    }
    return row, unset


def _value(value: Any, of: ColumnType | None, what: str) -> object:
    try:
        return values.decode(value, of or _json_type(value))
    except values.UnfitError as error:
        spark = (of or _json_type(value)).spark
        raise UndecodableError("bad_value", f"{what} is no {spark}") from error


def _json_type(value: Any) -> ColumnType:
    """Without a schema a value keeps JSON's own type."""
    match value:
        case bool():
            return ColumnType(Kind.BOOLEAN)
        case int():
            return ColumnType(Kind.INT64)
        case str() | None:
            return TEXT
        case dict() | list():
            return ColumnType(Kind.TEXT, Wire.JSON)
        case _:
            return ColumnType(Kind.DOUBLE)


def _time(record: Record, source: Mapping[str, Any], connector: Connector) -> Time:
    """The best time of a change: the source's where it is believable, else Kafka's (§5.3)."""
    moment = connector.time(source, snapshot=is_snapshot(source))
    kafka = _kafka_time(record)
    if moment.at is not None and EARLIEST <= moment.at <= kafka + TOLERANCE:
        return Time(moment.at, moment.quality, moment.at)
    return Time(kafka, TimeQuality.KAFKA, moment.at)


def _kafka_time(record: Record) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=record.timestamp)
