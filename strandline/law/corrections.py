"""Differences from a snapshot of the source as changes of the table, which then go the way of all.

What the snapshot has is a read at the moment when it was taken, what it lacks an end. Both stand
directly behind everything that the key has shown, so that whatever arrives later is later. No
record was landed for them: in place of its coordinates they have `TOPIC`, the run and the key. A
table that goes alone has them among its records, as records of our own making.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from strandline.cells import casting, widening
from strandline.cells.instants import micros
from strandline.cells.types import ColumnType
from strandline.changes.change import Change, Op, Time
from strandline.changes.position import (
    FIRST_EPOCH,
    Phase,
    Position,
    is_placed,
    major_of,
    next_to,
)
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import TimeQuality
from strandline.runs.reconciliation import TOPIC

# Sorts behind every digit of a position, so behind all that stands there.
_BEHIND = "~"
_TIE = Phase.READ.value + "0" * 15
_FIRST = f"{FIRST_EPOCH}{_TIE}"  # before everything


def correction(  # noqa: PLR0913 - what a change is made of
    key: str,
    row: Mapping[str, object] | None,
    columns: Iterable[str],
    *,
    behind: str | None,
    scope: str | None,
    run: int,
    moment: datetime,
) -> Change:
    """The change that makes a key say what a snapshot of that moment does; `row` None: not there.

    `columns` are those of the history: one that the snapshot does not have keeps its value.
    `behind` is the last position that the key has shown, else the table at that moment; None where
    there is none.
    """
    unset = frozenset(columns) - frozenset(row or ()) if row is not None else frozenset()
    return placed(key, row, unset, seq=_behind(behind), scope=scope, run=run, moment=moment)


def placed(  # noqa: PLR0913 - what a change is made of
    key: str,
    row: Mapping[str, object] | None,
    unset: frozenset[str],
    *,
    seq: str,
    scope: str | None,
    run: int,
    moment: datetime,
) -> Change:
    """The same, of which the place is known; it does not have the columns in `unset`."""
    return Change(
        at=Coordinates(TOPIC, 0, run, key),
        op=Op.ABSENT if row is None else Op.READ,
        key=key,
        seq=seq,
        position=Position("", f"reconciliation of run {run}", ""),
        identity=(TOPIC, run),
        time=Time(moment, TimeQuality.SNAPSHOT, moment),
        row=row,
        unset=unset,
        scope=scope,
    )


def is_correction(at: Coordinates) -> bool:
    """Whether nothing has landed there: Kafka has no topic whose id is a key."""
    return at.topic == TOPIC and at.topic_id.startswith("{")


def written(change: Change, types: Mapping[str, ColumnType]) -> Record:
    """A correction as a record; `types` are at least those of the columns that it has."""
    row = change.row
    said = {
        "seq": change.seq,
        "scope": change.scope,
        "as_of": change.time.best.isoformat(),
        "row": None if row is None else {name: casting.text(cell) for name, cell in row.items()},
        "types": {name: types[name].spark for name in row or ()},
        "unset": sorted(change.unset),
    }
    value = json.dumps(said, ensure_ascii=False).encode()
    return Record(change.at, micros(change.time.best) // 1000, change.key.encode(), value)


def read(record: Record) -> Change:
    """The correction that `written` made the record of."""
    said = json.loads(record.value or b"{}")
    row = said["row"]
    return placed(
        record.at.topic_id,
        None
        if row is None
        else {
            name: casting.cast(cell, widening.stored(said["types"][name]))
            for name, cell in row.items()
        },
        frozenset(said["unset"]),
        seq=said["seq"],
        scope=said["scope"],
        run=record.at.offset,
        moment=datetime.fromisoformat(said["as_of"]),
    )


def _behind(seq: str | None) -> str:
    """Directly behind that place; where only offsets order (flattened rows), before the next."""
    if seq is None:
        return _FIRST
    return f"{major_of(seq)}{_BEHIND}{_TIE}" if is_placed(major_of(seq)) else next_to(seq)
