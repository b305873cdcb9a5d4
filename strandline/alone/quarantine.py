"""Records that could not be read, with coordinates, reason and bytes, for people to look at."""

from collections.abc import Iterable

import pyarrow as pa
from deltalake import DeltaTable

from strandline.alone import fencing
from strandline.alone.fencing import Kept
from strandline.alone.landing import RECORD, cells
from strandline.alone.tables import rows
from strandline.changes.change import Quarantined
from strandline.changes.record import Coordinates, Record

_PLACES = """
    SELECT topic, topic_id, partition, "offset" FROM stored WHERE "table" = :table
"""
_SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        *RECORD,
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
    known = _known(there, table)
    found = [_row(table, record, why, run) for record, why in refused if record.at not in known]
    if found and fencing.applied(there, application) < run:
        made = pa.Table.from_pylist(found, schema=_SCHEMA)
        stored.write(there, made, run)


def _known(stored: DeltaTable | None, table: str) -> frozenset[Coordinates]:
    """Where records of the table lie that are there: a run that failed may have put them there."""
    found = [] if stored is None else rows(stored, _PLACES, table=table)
    return frozenset(
        Coordinates(row["topic"], row["partition"], row["offset"], row["topic_id"]) for row in found
    )


def _row(table: str, record: Record, why: Quarantined, run: int) -> dict[str, object]:
    said = {"record_key": why.key, "reason": why.reason, "detail": why.detail}
    return {"table": table, **cells(record), **said, "run": run}
