"""The history that follows from a stream itself, without any JSON: what every contender must give.

Per key and in the order of the log: an image begins a version; whatever comes next of the key, or a
truncate before that, ends it. A test holds this against Strandline's law.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.cases.columns import COLUMNS, values
from bench.cases.stream import CREATE, DELETE, NOBODY, TRUNCATE, UPDATE, Stream

NAMES = (*(column.name for column in COLUMNS), "valid_from", "valid_to", "is_current", "closed_by")

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions as columns: what began each, when it ended (microseconds), whether it is open, why.

    `ended` and `closed_by` (in Strandline's words) say nothing of an open one.
    """

    opened: Stream
    ended: NDArray[np.int64]
    is_open: NDArray[np.bool_]
    closed_by: NDArray[np.str_]

    def table(self) -> pa.Table:
        """The history in the columns `NAMES`; times are microseconds since the epoch."""
        return pa.table(
            {
                **values(self.opened),
                "valid_from": pa.array(self.opened.micros),
                "valid_to": pa.array(self.ended, mask=self.is_open),
                "is_current": pa.array(self.is_open),
                "closed_by": pa.array(self.closed_by, pa.string(), mask=self.is_open),
            }
        )

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """The chosen ones."""
        return type(self)(
            self.opened.where(chosen),
            self.ended[chosen],
            self.is_open[chosen],
            self.closed_by[chosen],
        )


def history(changes: Stream, batch: int) -> Versions:
    """The versions after that batch."""
    known = changes.where(changes.batch <= batch)
    fences = known.where(known.op == TRUNCATE)
    rows = known.where(known.op != TRUNCATE)
    order = np.lexsort((_place(rows), rows.key))
    rows = rows.where(order)
    place = _place(rows)
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = rows.key[1:] != rows.key[:-1]
    follower = np.minimum(np.arange(len(rows)) + 1, len(rows) - 1)
    following = np.where(last, _NEVER, place[follower])
    fence = np.searchsorted(fences.number, rows.number)
    cut = np.append(fences.number * 2, _NEVER)[fence]
    truncated = cut < following
    ended = np.where(truncated, np.append(fences.micros, 0)[fence], rows.micros[follower])
    gone = rows.op[follower] == DELETE
    moved = rows.moved_to[follower] != NOBODY
    closed_by = np.select(
        [truncated, gone & moved, gone], ["truncate", "key_move", "delete"], "update"
    )
    every = Versions(rows, ended, last & ~truncated, closed_by)
    return every.where(np.isin(rows.op, (CREATE, UPDATE)))


def changed(changes: Stream, batch: int) -> Versions:
    """The versions that a batch makes or ends otherwise: what has to be written at least."""
    arriving = changes.where(changes.batch == batch)
    known = changes
    if not (arriving.op == TRUNCATE).any():
        # Versions of other keys stay as they are; a truncate may end any key's.
        concerned = np.isin(changes.key, np.unique(arriving.key)) | (changes.op == TRUNCATE)
        known = changes.where(concerned)
    after, before = history(known, batch), history(known, batch - 1)
    old = np.argsort(_place(before.opened))
    places = _place(before.opened)[old]
    found = np.minimum(np.searchsorted(places, _place(after.opened)), len(places) - 1)
    return after.where(~_same(after, before.where(old), found, places)) if len(places) else after


def _same(
    after: Versions, before: Versions, found: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which versions were there before, and ended as they do now."""
    ends = np.where(after.is_open, _NEVER, after.ended)
    ended = np.where(before.is_open, _NEVER, before.ended)[found]
    return (places[found] == _place(after.opened)) & (ends == ended)


def _place(changes: Stream) -> NDArray[np.int64]:
    """A number that orders changes: the second half of a key move follows the first."""
    return changes.number * 2 + (changes.moved_from != NOBODY)
