"""`[[epoch]]`: lineages of the source's log, and since when each is written."""

from datetime import datetime
from itertools import pairwise

from strandline.changes.position import LAST_EPOCH
from strandline.changes.rules import Epoch, since
from strandline.sources.section import Section


def of(top: Section) -> tuple[Epoch, ...]:
    """The epochs of a source file, by their times."""
    epochs = []
    for section in top.sections("epoch", "number"):
        number = section.number("number", 1)
        if number > LAST_EPOCH:
            section.refuse(
                "number",
                f"must be {LAST_EPOCH} or less, not {number}: number the lineages of a source 1, "
                "2, 3",
            )
        moment = section.take("since", datetime, required=True)
        if moment.tzinfo is None:
            section.refuse("since", "needs an offset from UTC")
        section.finish()
        if not section.refused:
            epochs.append(Epoch(number, since(moment)))
    ordered = sorted(epochs, key=lambda epoch: epoch.since)
    for before, after in pairwise(ordered):
        if after.since == before.since or after.number <= before.number:
            top.mistakes.note(
                "[[epoch]]: later epochs need higher numbers, and each a time of its own: see "
                f"those of number {before.number} and {after.number}"
            )
    return tuple(ordered)
