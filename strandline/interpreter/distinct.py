"""Stage 3, distinct: of the deliveries of one change the first stays.

A crash repeats a suffix of the stream with the same `source` and later offsets. Identity is
position, op, key *and* content (ordering-notes §2): position alone loses rows, both halves of a key
move share one. A tombstone is bound to the record of its key directly before it in the raw
partition, first delivery or second, and shares its fate (§3).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from strandline.change import ENDS, IMAGES, Change, Fence, Op
from strandline.interpreter.repetition import genuine
from strandline.position import directly_after, major_of, seq
from strandline.record import Coordinates


@dataclass(frozen=True, slots=True)
class _Before:
    """The record of a key before this one in the raw partition, and the highest places so far."""

    op: Op | None = None
    high: str = ""
    read: str = ""  # the highest position that a snapshot read of the key had
    lone: Coordinates | None = None  # where a tombstone without its delete stands


_NOTHING = _Before()


@dataclass(frozen=True, slots=True)
class Distinct:
    """First deliveries in no particular order, and how many records were something else."""

    changes: tuple[Change, ...]
    fences: tuple[Fence, ...]
    duplicates: int
    absorbed: int  # tombstones that add nothing to the delete before them


def distinct(
    changes: Collection[Change], fences: Iterable[Fence], *, shares: bool = False
) -> Distinct:
    """The distinct changes and fences of one table.

    `shares`: several changes may have one position (see `repetition`).
    """
    kept = _Rows()
    again = genuine(changes) if shares else frozenset()
    for change in sorted(changes, key=lambda change: (change.at.partition, change.at.offset)):
        kept.add(change, distinct_all_the_same=change.at in again)
    first: dict[tuple[str, str | None], Fence] = {}
    deliveries = 0
    for fence in sorted(fences, key=lambda fence: (fence.at.offset, fence.at.partition)):
        first.setdefault((fence.seq, fence.scope), fence)
        deliveries += 1
    return Distinct(
        changes=tuple(kept.first.values()),
        fences=tuple(first.values()),
        duplicates=kept.rows - len(kept.first) + deliveries - len(first),
        absorbed=kept.absorbed,
    )


class _Rows:
    """The changes of rows, as their partitions are read from the first offset to the last."""

    def __init__(self) -> None:
        self.first: dict[tuple[object, ...], Change] = {}
        self.rows = 0
        self.absorbed = 0
        self._before: dict[tuple[int, str], _Before] = {}

    def add(self, change: Change, *, distinct_all_the_same: bool) -> None:
        place = (change.at.partition, change.key)
        previous = self._before.get(place, _NOTHING)
        if change.op is Op.TOMBSTONE:
            self._before[place] = self._tombstone(change, previous)
            return
        self.rows += 1
        change = _placed(change, previous)
        self._before[place] = _Before(
            change.op,
            max(previous.high, major_of(change.seq)),
            max(previous.read, major_of(change.seq)) if change.op is Op.READ else previous.read,
        )
        identity = (change.key, *change.identity)
        if distinct_all_the_same:
            identity = (*identity, change.at)
        earlier = self.first.get(identity)
        if earlier is None or _delivery(change) < _delivery(earlier):
            self.first[identity] = change
        else:
            # A lone tombstone is itself repeated where the record after it is (§9, A9).
            self.first.pop(("tombstone", previous.lone), None)

    def _tombstone(self, change: Change, previous: _Before) -> _Before:
        if previous.op in ENDS:
            self.absorbed += 1
            return replace(previous, op=change.op, lone=None)
        self.rows += 1
        high = previous.high or major_of(seq("", 0))
        placed = replace(change, seq=directly_after(f"{high}{0:016x}", change.at.offset))
        self.first["tombstone", change.at] = placed
        return replace(previous, op=change.op, lone=change.at)


def _placed(change: Change, previous: _Before) -> Change:
    """A change of a transaction that was open when its row was read is newer than that read.

    Its position is below the read's, but it comes later in the same partition (§9, A10).
    """
    lifted = (
        change.in_flight and change.op in IMAGES | ENDS and major_of(change.seq) < previous.read
    )
    if not lifted:
        return change
    return replace(change, seq=directly_after(f"{previous.read}{0:016x}", change.at.offset))


def _delivery(change: Change) -> tuple[int, int]:
    return (change.at.offset, change.at.partition)
