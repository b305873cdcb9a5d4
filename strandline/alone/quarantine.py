"""Records that could not be read, with coordinates, reason and bytes, for people to look at."""

from collections.abc import Iterable

import pyarrow as pa

from strandline.alone import fencing
from strandline.alone.fencing import Kept
from strandline.cells.instants import instant
from strandline.changes.change import Quarantined
from strandline.changes.record import Record

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        ("record_key", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("run", pa.int32()),
    ]
)


def put(uri: str, table: str, refused: Iterable[tuple[Record, Quarantined]], run: int) -> None:
    """Puts a table's records into the source's quarantine, once, however often it is called."""
    application = f"{fencing.APPLICATION}/{table}"
    stored = Kept(uri, application)
    there = stored.open()
    found = [_row(table, record, why, run) for record, why in refused]
    if found and fencing.applied(there, application) < run:
        made = pa.Table.from_pylist(found, schema=_SCHEMA)
        stored.write(there, made, run)


def _row(table: str, record: Record, why: Quarantined, run: int) -> dict[str, object]:
    at = record.at
    return {
        "table": table,
        "topic": at.topic,
        "topic_id": at.topic_id,
        "partition": at.partition,
        "offset": at.offset,
        "timestamp": instant(record.timestamp * 1000),
        "key": record.key,
        "value": record.value,
        "headers": [{"key": name, "value": data} for name, data in record.headers],
        "record_key": why.key,
        "reason": why.reason,
        "detail": why.detail,
        "run": run,
    }
