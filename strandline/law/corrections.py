"""Differences from a snapshot of the source as changes of the table, which then go the way of all.

What the snapshot has is a read at the moment when it was taken, what it lacks an end. Both stand
directly behind everything that the key has shown, so that whatever arrives later is later. No
record was landed for them: in place of its coordinates they have `TOPIC`, the run and the key.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from strandline.changes.change import Change, Op, Time
from strandline.changes.position import (
    FIRST_EPOCH,
    Phase,
    Position,
    is_placed,
    major_of,
    next_to,
)
from strandline.changes.record import Coordinates
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
    return Change(
        at=Coordinates(TOPIC, 0, run, key),
        op=Op.ABSENT if row is None else Op.READ,
        key=key,
        seq=_behind(behind),
        position=Position("", f"reconciliation of run {run}", ""),
        identity=(TOPIC, run),
        time=Time(moment, TimeQuality.SNAPSHOT, moment),
        row=row,
        unset=frozenset(columns) - frozenset(row or ()) if row is not None else frozenset(),
        scope=scope,
    )


def _behind(seq: str | None) -> str:
    """Directly behind that place; where only offsets order (flattened rows), before the next."""
    if seq is None:
        return _FIRST
    return f"{major_of(seq)}{_BEHIND}{_TIE}" if is_placed(major_of(seq)) else next_to(seq)
