"""Rows in transit: what one task has read of records, as bytes that another task folds.

So a record is read once, and what travels is what the fold needs of it.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from strandline.changes.change import Op
from strandline.law.landed import Landed
from strandline.law.plain.rows import Rows

# What a row in transit says, in this order; behind it the bytes of a delete's key, and what few
# rows have: whether they are partial, the other half of a move, of which whole snapshot they are.
_SAID = ("op", "major", "own", "position", "best", "quality", "tx_id", "scope", "cells")
_OP, _DELETE = _SAID.index("op"), Op.DELETE.value
_KEY, _RARE = len(_SAID), len(_SAID) + 1

_bytes = partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL)


@dataclass(slots=True)
class Transit:
    """Records of keys, an entry of each list for each of them, in order of key and place.

    `row` is None where the record has to be read with all others of its key, or is a tombstone that
    may be that of the delete before it: `tombstone` then has the bytes of its key.
    """

    topic_id: Sequence[str]
    partition: Sequence[int]
    offset: Sequence[int]
    row: Sequence[bytes | None]
    tombstone: Sequence[bytes | None]

    def __len__(self) -> int:
        return len(self.row)

    def unpacked(self, keys: Sequence[str], rows: Rows) -> tuple[range, dict[int, bytes]]:
        """Adds the rows to others of their table, in its columns already, and without a shape.

        Their numbers there, and the bytes of deletes' keys by the place of the record here.
        """
        start = len(rows.record)
        # Made by `packed` in a task of the same run, and by nobody else.
        found = [(at, pickle.loads(row)) for at, row in enumerate(self.row) if row is not None]  # noqa: S301
        if not found:
            return range(start, start), {}
        places = [at for at, _ in found]
        said = list(zip(*(row for _, row in found), strict=True))
        for name, column in zip(_SAID, said, strict=False):
            getattr(rows, name).extend(column)
        rows.record.extend(places)
        rows.key.extend([keys[at] for at in places])
        for name in ("topic_id", "partition", "offset"):
            own = getattr(self, name)
            getattr(rows, name).extend([own[at] for at in places])
        for n, rare in enumerate(said[_RARE], start):
            if rare is not None:
                _mark(rows, n, *rare)
        deletes = {at: row[_KEY] for at, row in found if row[_OP] == _DELETE}
        return range(start, start + len(found)), deletes


def packed(rows: Rows, landed: Landed) -> list[bytes | None]:
    """The rows that were read of landed records, each by the record's number."""
    found: list[bytes | None] = [None] * len(landed)
    count = len(rows.record)
    rare: list[Any] = [None] * count
    for n in {*rows.partial, *rows.moved, *rows.whole}:
        rare[n] = n in rows.partial, rows.moved.get(n), rows.whole.get(n)
    keys = [
        landed.key[record] if op == _DELETE else None
        for record, op in zip(rows.record, rows.op, strict=True)
    ]
    said = (getattr(rows, name) for name in _SAID)
    made = map(_bytes, zip(*said, keys, rare, strict=True))
    for record, row in zip(rows.record, made, strict=True):
        found[record] = row
    return found


def _mark(rows: Rows, n: int, is_partial: bool, moved: Any, whole: Any) -> None:  # noqa: FBT001
    if is_partial:
        rows.partial.add(n)
    if moved is not None:
        rows.moved[n] = moved
    if whole is not None:
        rows.whole[n] = whole
