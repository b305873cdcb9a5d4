"""Records that could not be read, with coordinates, reason and bytes, for people to look at."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable

from strandline.alone.stores import fencing
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.landing import RECORD, cells, lie_at, record
from strandline.alone.stores.tables import literal, opened, rows, whole
from strandline.changes.change import Quarantined
from strandline.changes.record import Coordinates, Record

_PLACES = """
    SELECT topic, topic_id, partition, "offset" FROM stored WHERE "table" = :table
"""
_LOOKS = 50  # at a table that all tables of a source share
_EARLIER = 'SELECT * FROM stored WHERE "table" = :table AND run < :run'
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


def put(
    uri: str,
    table: str,
    refused: Iterable[tuple[Record, Quarantined]],
    run: int,
    *,
    again: bool = False,
) -> None:
    """Puts a table's records into the source's quarantine, once, however often it is called.

    `again`: also those that lie there from runs before, which are struck afterwards.
    """
    application = f"{fencing.APPLICATION}/{table}"
    stored = Kept(uri, application)
    there = stored.open()
    known = frozenset() if again else _known(there, table)
    found = [_row(table, record, why, run) for record, why in refused if record.at not in known]
    if found and fencing.applied(there, application) < run:
        made = pa.Table.from_pylist(found, schema=_SCHEMA)
        stored.write(there, made, run)


def refused(uri: str, table: str, *, before: int) -> Iterator[tuple[Record, str]]:
    """The table's records that runs before that one have put there, each with the reason."""
    stored = opened(uri)
    found = [] if stored is None else rows(stored, _EARLIER, table=table, run=before)
    return ((record(row), row["reason"]) for row in found)


def struck(table: str) -> str:
    """The application whose transaction says that records of the table have left."""
    return f"{fencing.APPLICATION}/struck/{table}"


def strike(
    uri: str, table: str, places: Iterable[Coordinates] | None, run: int, note: str | None = None
) -> None:
    """Takes out what runs before this one have put there of the table, once.

    None: all of it, wherever it lies.
    """
    own = f'"table" = {literal(table)} AND run < {run:d}'
    if places is not None:
        own += f" AND ({lie_at(places)})"
    for _ in range(_LOOKS):
        with suppress(fencing.OvertakenError):  # the other tables of the run leave it, too
            return _strike(uri, own, fencing.commit(run, note, struck(table)), (table, run))
    return _strike(uri, own, fencing.commit(run, note, struck(table)), (table, run))


def _strike(uri: str, own: str, commit: CommitProperties, of: tuple[str, int]) -> None:
    table, run = of
    stored = opened(uri)
    if stored is not None and fencing.applied(stored, struck(table)) < run:
        with fencing.overtaken(uri):
            stored.delete(own, commit_properties=commit)


def restore(uri: str, table: str, version: int, run: int) -> None:
    """Puts the table's records that were there at a version there again, as the run's, once.

    What was there since is for `strike`.
    """
    application = f"{fencing.APPLICATION}/{table}"
    stored = Kept(uri, application)
    there = stored.open()
    old = opened(uri, version) if version >= 0 else None
    if old is None or fencing.applied(there, application) >= run:
        return
    found = whole(old, f'"table" = {literal(table)}')
    if found.num_rows:
        number = pa.array([run] * found.num_rows, pa.int32())
        stored.write(
            there, found.set_column(found.schema.get_field_index("run"), "run", number), run
        )


def _known(stored: DeltaTable | None, table: str) -> frozenset[Coordinates]:
    """Where records of the table lie that are there: a run that failed may have put them there."""
    found = [] if stored is None else rows(stored, _PLACES, table=table)
    return frozenset(
        Coordinates(row["topic"], row["partition"], row["offset"], row["topic_id"]) for row in found
    )


def _row(table: str, record: Record, why: Quarantined, run: int) -> dict[str, object]:
    said = {"record_key": why.key, "reason": why.reason, "detail": why.detail}
    return {"table": table, **cells(record), **said, "run": run}
