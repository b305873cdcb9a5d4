"""Part of stage 3: whether a key's first deliveries stand in the order of their positions."""

from collections.abc import Iterable

from strandline import lineage
from strandline.change import Change, Op
from strandline.position import major_of


def regress(changes: Iterable[Change]) -> str | None:
    """Of distinct changes the first that goes back in its own key and partition, in words.

    Not asked of reads, which tell of the past, nor of changes in flight at a connector's start.
    """
    newest: dict[tuple[str, int], str] = {}
    for change in sorted(changes, key=lambda c: (c.at.offset, c.at.partition)):
        if change.in_flight or change.op in {Op.READ, Op.TOMBSTONE}:
            continue
        place, major = (change.key, change.at.partition), major_of(change.seq)
        if major < newest.get(place, ""):
            position = None if change.position is None else change.position.text
            return lineage.told(change.at.partition, change.at.offset, position)
        newest[place] = major
    return None
