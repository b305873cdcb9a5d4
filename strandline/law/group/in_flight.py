"""Part of stage 3: transactions that may have been open at a snapshot; they stand by their place.

Of the first one after a start nobody sends where the commit before it ended (PostgreSQL's
`sequence[0]` is null). The first one after a blocking snapshot names a commit before the reads, but
goes on behind them. What it wrote before the reads' position was not read, for it had not
committed: it is newer than they are (docs/facts/questions.md, A10).
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from strandline.changes.change import Change, Fence, Op
from strandline.changes.position import before_phase, major_of, rebased

T = TypeVar("T", Change, Fence)


def is_read(change: Change) -> bool:
    """Whether it is one of a whole snapshot, and says when."""
    return change.whole and change.emitted is not None


def reads(changes: Iterable[Change]) -> Mapping[str, int]:
    """Where the reads of a table's snapshots stand, and since when they were emitted."""
    since: dict[str, int] = {}
    for change in changes:
        if change.whole and change.emitted is not None:
            place = before_phase(change.seq)
            since[place] = min(change.emitted, since.get(place, change.emitted))
    return since


def last_reads(reads: Mapping[str, int], change: Change) -> str:
    """The place of the last reads that were emitted before a change; "" where none were."""
    emitted = change.emitted
    if emitted is None:
        return ""
    return max((place for place, since in reads.items() if since <= emitted), default="")


def open_transactions(streamed: Iterable[Change | Fence], reads: Iterable[str]) -> frozenset[str]:
    """The transactions that may have been open at a snapshot, whose reads stand at these places."""
    places = sorted({major_of(place) for place in reads})
    return frozenset(
        each.tx_id
        for each in streamed
        if each.tx_id is not None and (each.in_flight or _spans(each, places))
    )


def by_own_position(each: T, of: frozenset[str]) -> T:
    """The same delivery; of one of these transactions all stand alike, and by their own place.

    Sent again, a part of it may know a commit before it: the stored offset had gained one meanwhile
    (docs/facts/positions.md, "PostgreSQL").
    """
    if each.tx_id not in of or (isinstance(each, Change) and each.op is Op.READ):
        return each
    return _own(each)


def _spans(each: Change | Fence, places: Sequence[str]) -> bool:
    """Whether reads stand between the commit before it and its own place: it was not read."""
    position = each.position
    if not places or position is None or position.own is None:
        return False
    own = major_of(rebased(each.seq, position.own.major))
    behind = bisect_right(places, major_of(each.seq))
    return behind < len(places) and places[behind] < own


def _own(each: T) -> T:
    position = each.position
    if position is None or position.own is None:
        return each
    seq = rebased(each.seq, position.own.major)
    return replace(each, seq=seq, position=position.own, in_flight=True)
