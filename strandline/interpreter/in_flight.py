"""Part of stage 3: transactions that may have been open at a snapshot; they stand by their place.

Of the first one after a start nobody sends where the commit before it ended (PostgreSQL's
`sequence[0]` is null). The first one after a blocking snapshot names a commit before the reads, but
goes on behind them. What it wrote before the reads' position was not read, for it had not
committed: it is newer than they are (ordering-notes §9, A10).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from strandline.changes.change import Change, Fence, Op
from strandline.changes.position import before_phase, major_of, rebased

T = TypeVar("T", Change, Fence)


def by_own_position(
    changes: Iterable[Change], fences: Iterable[Fence]
) -> tuple[list[Change], list[Fence]]:
    """The same deliveries; of one transaction all stand alike, those that know more included.

    Sent again, a part of it may know a commit before it: the stored offset had gained one meanwhile
    (live-stack, "Real events", 2).
    """
    changes, fences = list(changes), list(fences)
    streamed: list[Change | Fence] = [*(c for c in changes if c.op is not Op.READ), *fences]
    reads = (change for change in changes if change.whole and change.emitted is not None)
    places = sorted({major_of(read.seq) for read in reads})
    first = {each.tx_id for each in streamed if each.in_flight or _spans(each, places)} - {None}
    return (
        [_own(c) if c.tx_id in first and c.op is not Op.READ else c for c in changes],
        [_own(fence) if fence.tx_id in first else fence for fence in fences],
    )


def _spans(each: Change | Fence, places: Sequence[str]) -> bool:
    """Whether reads stand between the commit before it and its own place: it was not read."""
    position = each.position
    if position is None or position.own is None:
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


class Reads:
    """Where the reads of a table's snapshots stand, and since when they were emitted."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self._since: dict[str, int] = {}
        for change in changes:
            if change.whole and change.emitted is not None:
                place = before_phase(change.seq)
                self._since[place] = min(change.emitted, self._since.get(place, change.emitted))

    def before(self, change: Change) -> str:
        """The place of the last reads that were emitted before a change; "" where none were."""
        emitted = change.emitted
        if emitted is None:
            return ""
        return max((place for place, since in self._since.items() if since <= emitted), default="")
