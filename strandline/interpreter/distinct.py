"""Stage 3, distinct: of the deliveries of one change the first stays.

A crash repeats a suffix of the stream with the same `source` and later offsets. Identity is
position, op, key *and* content (ordering-notes §2): position alone loses rows, both halves of a key
move share one. A tombstone is bound to the record of its key directly before it in the raw
partition, first delivery or second, and shares its fate (§3).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from strandline.change import ENDS, Change, Fence, Op
from strandline.position import EPOCH, major_of, seq
from strandline.record import Coordinates


@dataclass(frozen=True, slots=True)
class _Before:
    """The record of a key before this one in the raw partition, and the highest position so far."""

    op: Op | None = None
    high: str = ""
    lone: Coordinates | None = None  # where a tombstone without its delete stands


_NOTHING = _Before()


@dataclass(frozen=True, slots=True)
class Distinct:
    """First deliveries in no particular order, and how many records were something else."""

    changes: tuple[Change, ...]
    fences: tuple[Fence, ...]
    duplicates: int
    absorbed: int  # tombstones that add nothing to the delete before them


def distinct(changes: Iterable[Change], fences: Iterable[Fence]) -> Distinct:
    """The distinct changes and fences of one table."""
    first: dict[tuple[object, ...], Change] = {}
    before: dict[tuple[int, str], _Before] = {}
    rows = absorbed = 0
    for change in sorted(changes, key=lambda change: (change.at.partition, change.at.offset)):
        place = (change.at.partition, change.key)
        previous = before.get(place, _NOTHING)
        if change.op is Op.TOMBSTONE:
            lone = previous.op not in ENDS
            before[place] = _Before(change.op, previous.high, change.at if lone else None)
            if not lone:
                absorbed += 1
                continue
            first["tombstone", change.at] = replace(
                change, seq=directly_after(previous.high, change)
            )
        else:
            before[place] = _Before(change.op, max(previous.high, major_of(change.seq)))
            identity = (change.key, *change.identity)
            earlier = first.get(identity)
            if earlier is None or _delivery(change) < _delivery(earlier):
                first[identity] = change
            else:
                first.pop(("tombstone", previous.lone), None)
        rows += 1
    by_position: dict[str, Fence] = {}
    deliveries = 0
    for fence in sorted(fences, key=lambda fence: (fence.at.offset, fence.at.partition)):
        by_position.setdefault(fence.seq, fence)
        deliveries += 1
    return Distinct(
        changes=tuple(first.values()),
        fences=tuple(by_position.values()),
        duplicates=rows - len(first) + deliveries - len(by_position),
        absorbed=absorbed,
    )


def directly_after(major: str, tombstone: Change) -> str:
    """The `_seq` of a lone tombstone: it has no position but that of its key's record before it."""
    return seq(major.removeprefix(EPOCH), tombstone.at.offset)


def _delivery(change: Change) -> tuple[int, int]:
    return (change.at.offset, change.at.partition)
