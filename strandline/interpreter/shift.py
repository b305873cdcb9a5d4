"""Part of stage 4: statement-level shifts, where a key is taken over before its row has left it.

`UPDATE t SET id = id + 1` is logged row by row: key 2 gets its new row while the old one is still
there, and the delete that follows is of the older row (ordering-notes §5). Inside one transaction
the live rows of a key are a queue: a create appends, a delete takes the row equal to its `before`,
else the oldest. The delete is then put where the row after it begins, so that versions of a key
appear in the order in which their rows came to the key, and do not overlap.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strandline.change import ENDS, IMAGES, Change, Op


@dataclass(frozen=True, slots=True)
class _Instance:
    """A row that stands under the key: its image, where it opened, whether in this transaction."""

    image: str | None
    seq: str
    own: bool


def in_turn(changes: Iterable[Change], fences: Sequence[str], *, full_before: bool) -> list[Change]:
    """The changes of one key, given in source order, as rows came to the key and left it.

    `fences` are the positions of the table's truncates in their order. `full_before`: a before
    image that equals no row that stands is of a row that was never seen.
    """
    queued = _queued(changes, fences, full_before=full_before)
    return sorted(queued, key=lambda c: (c.seq, c.op not in ENDS))


def _queued(
    changes: Iterable[Change], fences: Sequence[str], *, full_before: bool
) -> Iterator[Change]:
    queue: deque[_Instance] = deque()
    tx_id: str | None = None
    passed = 0
    for change in changes:
        before, passed = passed, bisect_right(fences, change.seq)
        if passed > before:
            queue.clear()
        if change.tx_id is None or change.tx_id != tx_id:
            tx_id = change.tx_id
            # At a commit one row remains; what else is there was closed by a record we lack (A8).
            queue = deque(replace(row, own=False) for row in list(queue)[-1:])
        if change.op is Op.DELETE and queue:
            row = _left(queue, change, full_before=full_before)
            if row is None:
                continue  # it deletes a row that was never seen (A2)
            following = _after(queue, row)
            queue.remove(row)
            yield change if following is None else replace(change, seq=following.seq)
            continue
        if change.op in IMAGES:
            _stand(queue, change)
        elif change.op in ENDS:
            queue.clear()
        yield change


def _left(queue: deque[_Instance], change: Change, *, full_before: bool) -> _Instance | None:
    """The row that a delete takes; None where it takes one that was never seen."""
    if change.before is not None:
        equal = next((row for row in queue if row.image == change.before), None)
        if equal is not None:
            return equal
        if full_before and all(row.own and row.image is not None for row in queue):
            return None
    return queue[0]


def _after(queue: deque[_Instance], row: _Instance) -> _Instance | None:
    rows = list(queue)
    at = rows.index(row)
    return rows[at + 1] if at + 1 < len(rows) else None


def _stand(queue: deque[_Instance], change: Change) -> None:
    if change.op is Op.CREATE or not queue:
        queue.append(_Instance(change.after, change.seq, own=True))
        return
    at = next((n for n, row in enumerate(queue) if row.image == change.before), len(queue) - 1)
    queue[at] = replace(queue[at], image=change.after)
