"""Which offsets a backfill lands again, decided from what was asked for and what a cluster has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from strandline.errors import SpecError
from strandline.runs.segment import Segment, Watermarks, again


@dataclass(frozen=True, slots=True)
class Wanted:
    """Offsets `[start, end)` of a partition, or of all; None does not restrict."""

    partition: int | None = None
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise SpecError(
                f"'start_offset' ({self.start}) has to be before 'end_offset' ({self.end}), which "
                "is the first one that is not wanted: swap them"
            )


def segments(
    wanted: Wanted,
    marks: Iterable[Watermarks],
    times: tuple[Mapping[tuple[str, int], int], Mapping[tuple[str, int], int]],
    label: str,
) -> tuple[Segment, ...]:
    """The offsets that were asked for and are there, under the label's own incarnations.

    `times` are the first offsets at or after the wanted begin and end, by topic and partition,
    empty where no time was named. Raises `SpecError` where nothing is left, with what there is.
    """
    found, there = [], []
    for mark in marks:
        place = mark.topic, mark.partition
        there.append(f"{mark.topic}[{mark.partition}] {mark.log_start}..{mark.end}")
        if wanted.partition not in {None, mark.partition}:
            continue
        start = max(mark.log_start, wanted.start or 0, times[0].get(place, 0))
        ends = (mark.end, wanted.end, times[1].get(place))
        end = min(each for each in ends if each is not None)
        if start < end:
            topic_id = again(mark.topic_id, label)
            found.append(Segment(mark.topic, topic_id, mark.partition, start, end))
    if not found:
        has = ", ".join(there[:8]) or "none of these topics"
        raise SpecError(
            f"the cluster has nothing of what was asked for; it has {has}: ask for some of that"
        )
    return tuple(found)
