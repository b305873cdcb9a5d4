"""Part of stage 4: statement-level shifts, where a key is taken over before its row has left it.

`UPDATE t SET id = id + 1` is logged row by row: key 2 gets its new row while the old one is still
there, and the delete that follows is of the older row (docs/facts/order.md). Inside one transaction
the live rows of a key are a queue: a create appends, a delete takes the first row that its `before`
is like. The delete is then put where the row after it begins, so that versions of a key appear in
the order in which their rows came to the key, and do not overlap.

A row that was taken over may be changed once more before it leaves. Its time under the key is over,
so that such an update makes no version there: where the row goes shows what became of it.

A `before` that says nothing is of a log that holds old keys only (PostgreSQL's REPLICA IDENTITY
DEFAULT), where no key can be taken over: then the newest row leaves, the others ended unseen.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strandline.changes.change import ENDS, IMAGES, Change, Op
from strandline.changes.image import Image, alike


@dataclass(frozen=True, slots=True)
class _Instance:
    """A row that stands under the key: its image, and where it opened.

    `took_over`: in this transaction, perhaps from a row that was never seen.
    """

    image: Image
    seq: str
    took_over: bool


def in_turn(changes: Iterable[Change], fences: Sequence[str], *, full_before: bool) -> list[Change]:
    """The changes of one key, given in source order, as rows came to the key and left it.

    `fences` are the positions of the table's truncates in their order. `full_before`: a before
    image is always the whole row. Where it is not, a default may look like a value of the row (no
    JSON without schema tells them apart), so that only a key move is sure to take a key over.
    """
    changes = list(changes)
    if not _shifts(changes):
        return changes
    queued = _queued(changes, fences, full_before=full_before)
    return sorted(queued, key=lambda c: (c.seq, c.op not in ENDS))


def _shifts(changes: Iterable[Change]) -> bool:
    """Whether a delete follows a create inside one transaction: else no key was taken over."""
    created: str | None = None
    for change in changes:
        if change.op is Op.DELETE and created is not None and change.tx_id == created:
            return True
        if change.op is Op.CREATE and change.tx_id is not None:
            created = change.tx_id
    return False


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
            queue = deque(replace(row, took_over=False) for row in list(queue)[-1:])
        if change.op is Op.DELETE and queue:
            row = _left(queue, change)
            if row is None:
                continue  # it deletes a row that was never seen (A2)
            while queue.popleft() is not row:
                pass  # it came before and had to be gone before this one could leave (A8)
            yield replace(change, seq=queue[0].seq) if queue else change
            continue
        if change.op in IMAGES:
            if not _stand(queue, change, took_over=full_before or change.moved_from is not None):
                continue  # it changes a row that was taken over
        elif change.op in ENDS:
            queue.clear()
        yield change


def _left(queue: deque[_Instance], change: Change) -> _Instance | None:
    """The row that a delete takes; None where it takes one that was never seen."""
    like = _like(queue, change.before) or _like(queue, change.certain)
    if like is not None:
        return like
    if change.certain is None:
        return queue[-1]
    return None if all(row.took_over for row in queue) else queue[0]


def _like(rows: Iterable[_Instance], before: Image | None) -> _Instance | None:
    return next((row for row in rows if before is not None and alike(row.image, before)), None)


def _stand(queue: deque[_Instance], change: Change, *, took_over: bool) -> bool:
    """Whether the image is of the row that has the key now; where many are like it, the newest."""
    image = change.after or {}
    if change.op is Op.CREATE or not queue:
        queue.append(_Instance(image, change.seq, took_over))
        return True
    row = _like(reversed(queue), change.before) or queue[-1]
    place = queue.index(row)
    queue[place] = replace(row, image=image)
    return not any(later.took_over for later in list(queue)[place + 1 :])
