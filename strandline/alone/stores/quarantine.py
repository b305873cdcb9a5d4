"""Records that could not be read, with coordinates, reason and bytes, for people to look at."""

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa

from strandline.alone.stores import fencing
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.landing import RECORD, cells, lie_at, record
from strandline.alone.stores.tables import literal, opened, rows, whole
from strandline.changes.change import Quarantined
from strandline.changes.record import Coordinates, Record

_LOOKS = 50  # at a table that all tables of a source share
_EARLIER = 'SELECT * FROM stored WHERE "table" = :table AND run < :run'
SCHEMA = pa.schema(
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
    """Puts a table's records into the source's quarantine, once, however often it is called.

    What lies there of the same records, from runs before, is for `strike`.
    """
    application = f"{fencing.APPLICATION}/{table}"
    stored = Kept(uri, application)
    there = stored.open()
    found = [_row(table, record, why, run) for record, why in refused]
    if found and fencing.applied(there, application) < run:
        stored.write(there, pa.Table.from_pylist(found, schema=SCHEMA), run)


def refused(uri: str, table: str, *, before: int) -> Iterator[tuple[Record, str]]:
    """The table's records that runs before that one have put there, each with the reason."""
    stored = opened(uri)
    found = [] if stored is None else rows(stored, _EARLIER, table=table, run=before)
    return ((record(row), row["reason"]) for row in found)


def struck(table: str) -> str:
    """The application whose transaction says that records of the table have left."""
    return f"{fencing.APPLICATION}/struck/{table}"


def strike(
    uri: str,
    table: str,
    places: Collection[Coordinates] | None,
    run: int,
    note: str | None = None,
) -> None:
    """Takes out what runs before this one have put there of the table, once.

    None: all of it, wherever it lies; no places: nothing.
    """
    if places is not None and not places:
        return
    own = f'"table" = {literal(table)} AND run < {run:d}'
    where = own if places is None else f"{own} AND ({lie_at(places)})"
    commit = fencing.commit(run, note, struck(table))
    for look in range(_LOOKS):
        stored = opened(uri)
        if stored is None or fencing.applied(stored, struck(table)) >= run:
            return
        try:
            with fencing.overtaken(uri):
                stored.delete(where, commit_properties=commit)
        except fencing.OvertakenError:  # by another table of the run, which leaves it, too
            if look == _LOOKS - 1:
                raise


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


def _row(table: str, record: Record, why: Quarantined, run: int) -> dict[str, object]:
    said = {"record_key": why.key, "reason": why.reason, "detail": why.detail}
    return {"table": table, **cells(record), **said, "run": run}
