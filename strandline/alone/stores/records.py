"""The landed records of a table on record, each under the keys that it names.

A run goes on from these: it asks for the records of the keys that it touches. `entry_key` is NULL
of a record that names none; see `strandline.law.continuation.Entry` for the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from strandline.alone.stores import fencing
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.landing import RECORD, cells, lie_at, record
from strandline.alone.stores.tables import MOST_NAMES, SHORT_LOG, opened, rows
from strandline.changes.record import Coordinates, Record
from strandline.law.continuation import Announced, Entered, Entry
from strandline.law.facts import Facts

_SCHEMA = pa.schema(
    [
        ("entry_key", pa.string()),
        ("entry_other", pa.string()),
        ("entry_link", pa.string()),
        *RECORD,
        ("run", pa.int32()),
    ]
)
# Where a reader looks, so that files without it are passed over.
TOLD = ("entry_key", "entry_other", "entry_link", "run")
PROPERTIES = {**SHORT_LOG, "delta.dataSkippingStatsColumns": ",".join(TOLD)}
_SUPERSEDED = f"{fencing.APPLICATION}/superseded"
_EVERY = "SELECT * FROM stored WHERE run <= :run"
_SINCE = """
    SELECT * FROM stored WHERE date_part('epoch', timestamp) * 1000 >= :moment
    ORDER BY timestamp LIMIT :most
"""
_NAMED = """
    SELECT * FROM stored
    WHERE run <= :run AND (entry_key IN :keys OR entry_other IN :keys OR entry_link IN :links)
"""

_NAMES = "SELECT DISTINCT entry_key, entry_other FROM stored WHERE run <= :run"
_WHOSE = f"{_NAMES} AND (entry_key IN :keys OR entry_other IN :others)"


@dataclass(frozen=True, slots=True)
class OnRecord:
    """What the runs up to `applied` have left of a table at `uri`, for the next one."""

    uri: str
    applied: int
    facts: Facts | None
    announced: Announced

    def of(self, keys: AbstractSet[str], links: AbstractSet[str]) -> Iterator[Entered]:
        """The records of which the entry names one of these, in any place."""
        if len(keys) + len(links) > MOST_NAMES:
            for row in self._rows(_EVERY):
                if {row["entry_key"], row["entry_other"]} & keys or row["entry_link"] in links:
                    yield _entered(row)
            return
        # A list that is empty is no SQL; no key and no link is empty.
        found = self._rows(_NAMED, keys=sorted(keys) or [""], links=sorted(links) or [""])
        yield from map(_entered, found)

    def every(self) -> Iterator[Entered]:
        """All of the table's records, each as it was entered last."""
        newest = {}
        for row in sorted(self._rows(_EVERY), key=_by_run):
            newest[row["topic_id"], row["partition"], row["offset"]] = row
        return map(_entered, newest.values())

    def named(self, keys: AbstractSet[str], others: AbstractSet[str]) -> AbstractSet[str]:
        """Of `keys` those that a record is of, of both those that one names beside its own."""
        if len(keys) + len(others) > MOST_NAMES:
            found = self._rows(_NAMES)
        else:
            beside = sorted(keys | others)
            found = self._rows(_WHOSE, keys=sorted(keys) or [""], others=beside or [""])
        own, beside_them = ({row[name] for row in found} for name in ("entry_key", "entry_other"))
        return (keys & own) | ((keys | others) & beside_them)

    def _rows(self, sql: str, **values: Sequence[str]) -> list[dict[str, Any]]:
        table = opened(self.uri)
        if table is None:
            return []
        return rows(table, sql, run=self.applied, **values)


def landed_since(uri: str, moment: int, *, most: int) -> Iterator[Record]:
    """Records that Kafka has of that moment (milliseconds) or later, at most so many."""
    table = opened(uri)
    found = [] if table is None else rows(table, _SINCE, moment=moment, most=most)
    return map(record, found)


def of_run(uri: str, run: int) -> list[Record]:
    """What a run has put on record, in the order of its places."""
    table = opened(uri)
    found = [] if table is None else rows(table, "SELECT * FROM stored WHERE run = :run", run=run)
    return sorted(
        map(record, found), key=lambda each: (each.at.partition, each.at.offset, each.at.topic_id)
    )


def forget_failed(uri: str, history: DeltaTable | None, run: int) -> DeltaTable | None:
    """Deletes what runs between the history's last one and this one have entered: they failed.

    Gives the table as it is then. What of it still counts is entered by another run. A process of a
    failed run that lives on and enters only now is not looked for. Where there is no history, runs
    have made none and entered what they read.
    """
    table, applied = opened(uri), fencing.applied(history)
    if history is not None and table is not None and applied < fencing.applied(table) < run:
        with fencing.overtaken(uri):
            table.delete(f"run > {applied:d} AND run < {run:d}")
    return table


def put(
    uri: str,
    entered: Iterable[Entered],
    run: int,
    *,
    seen: DeltaTable | None = None,
    anew: bool = False,
) -> None:
    """Puts what a run has read on record, once, however often it is called.

    `seen` is the table where somebody has looked at it just now. `anew`: in place of all that is
    there, which another way has gone on from since.
    """
    stored = Kept(uri, properties=PROPERTIES)
    table = seen or stored.open()
    if fencing.applied(table) < run:
        found = sorted((_row(of, entry, run) for of, entry in entered), key=_by_key)
        made = pa.Table.from_pylist(found, schema=_SCHEMA)
        stored.write(table, made, run, whole=anew)


def remove(uri: str, places: Iterable[Coordinates]) -> int:
    """Deletes the records that lie there; how many rows they were. Doing it again finds none."""
    table, wanted = opened(uri), sorted(places, key=lambda at: at.order)
    if table is None:
        return 0
    count = 0
    for first in range(0, len(wanted), MOST_NAMES):
        with fencing.overtaken(uri):
            done = table.delete(lie_at(wanted[first : first + MOST_NAMES]))
        count += int(done["num_deleted_rows"])
    return count


def supersede(uri: str, run: int) -> None:
    """Takes out what runs before have entered, once this one has entered all records anew.

    Only when its history stands: until then the run before is what the next one goes on from.
    Nothing where the run has entered none.
    """
    table = opened(uri)
    if table is not None and fencing.applied(table, _SUPERSEDED) < run == fencing.applied(table):
        with fencing.overtaken(uri):
            table.delete(f"run < {run:d}", commit_properties=fencing.commit(run, None, _SUPERSEDED))


def _entered(row: Mapping[str, Any]) -> Entered:
    return record(row), Entry(row["entry_key"], row["entry_other"], row["entry_link"])


def _row(of: Record, entry: Entry, run: int) -> dict[str, object]:
    named = {"entry_key": entry.key, "entry_other": entry.other, "entry_link": entry.link}
    return {**named, **cells(of), "run": run}


def _by_run(row: Mapping[str, Any]) -> int:
    return int(row["run"])


def _by_key(row: Mapping[str, Any]) -> tuple[str, int, int]:
    return row["entry_key"] or "", row["partition"], row["offset"]
