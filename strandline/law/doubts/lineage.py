"""Part of stage 3: whether a key's first deliveries stand in the order of their positions."""

from collections.abc import Iterable

from strandline.changes import lineage
from strandline.changes.change import Change, Op
from strandline.changes.position import major_of

# Offset and partition of a record, and what is to be said of it.
Doubt = tuple[int, int, str]


def regress(changes: Iterable[Change], *, reads_newest: bool) -> Doubt | None:
    """Of distinct changes the first that goes back in its own key and partition.

    Asked of reads of a snapshot only where nothing newer can have been sent before them (else they
    tell of the past), and not of changes in flight at a connector's start.
    """
    newest: dict[tuple[str, tuple[str, int]], str] = {}
    for change in sorted(changes, key=lambda c: c.at.order):
        place, major = (change.key, change.at.log), major_of(change.seq)
        if change.op is Op.READ:
            back = reads_newest and change.outdated
        elif change.in_flight or change.op is Op.TOMBSTONE:
            continue
        else:
            back = major < newest.get(place, "")
            newest[place] = major
        if back:
            position = None if change.position is None else change.position.text
            at = change.at
            return at.offset, at.partition, lineage.message(at.partition, at.offset, position)
    return None
