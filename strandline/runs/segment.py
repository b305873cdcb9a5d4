"""Segments: which offsets one landing run is to read, decided from watermarks and landed offsets.

Pure: the brokers' answers go in, a plan comes out. Offsets are half-open ranges `[start, end)` that
may have holes (aborted transactions, control records, compaction); holes are no gaps. A gap is what
retention deleted before it was landed: it is named in the plan, never skipped in silence.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from strandline.changes.record import Coordinates


@dataclass(frozen=True, slots=True)
class Watermarks:
    """What a partition of one incarnation of a topic holds: offsets `[log_start, end)`.

    `end` is the last stable offset: records of open transactions lie behind it.
    """

    topic: str
    topic_id: str
    partition: int
    log_start: int
    end: int


@dataclass(frozen=True, slots=True)
class Landed:
    """How far a registered partition is landed: `[first_offset, next_offset)` less gaps."""

    topic: str
    topic_id: str
    partition: int
    first_offset: int
    next_offset: int


_AGAIN = "~"  # is in no topic id, nor in a topic's name


def again(topic_id: str, label: str) -> str:
    """The id under which records of an incarnation are landed once more, apart from the first time.

    To everything that follows it is an incarnation of its own. A record whose original is on record
    is that one; else it is a re-delivery as any other may be.
    """
    return f"{topic_id}{_AGAIN}{label}"


def incarnation(topic_id: str) -> str:
    """The id that Kafka knows, of what was landed once or more."""
    return topic_id.partition(_AGAIN)[0]


def original(at: Coordinates) -> Coordinates:
    """Where Kafka has the record, of one that was landed once or more."""
    return replace(at, topic_id=incarnation(at.topic_id))


def is_again(topic_id: str) -> bool:
    """True where the records were landed by a backfill."""
    return _AGAIN in topic_id


@dataclass(frozen=True, slots=True)
class Segment:
    """Offsets `[start, end)` of one partition, to be read by one task in order."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}] {self.start}..{self.end}"


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets `[start, end)` that the broker deleted before they were landed."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}] lost offsets {self.start} to {self.end - 1}"


@dataclass(frozen=True, slots=True)
class Truncation:
    """A partition that ends at `end`, before offset `landed` to which it is landed."""

    topic: str
    topic_id: str
    partition: int
    end: int
    landed: int

    def __str__(self) -> str:
        return (
            f"{self.topic}[{self.partition}] ends at offset {self.end}, but everything before "
            f"{self.landed} is landed"
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run.

    `groups` is the most tasks it may have, `group_records` how many records make another task worth
    its start, `partition_records` how far one partition may advance.
    """

    groups: int
    group_records: int = 50_000
    partition_records: int = 1_000_000


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """One landing run: a task for each group, and the offsets that are left to the next run.

    Nothing is read of partitions with a truncation: nobody knows which of their records are landed.
    """

    groups: tuple[tuple[Segment, ...], ...]
    gaps: tuple[Gap, ...]
    truncations: tuple[Truncation, ...]
    carried_over: int


def newcomers(watermarks: Iterable[Watermarks], registered: Iterable[Landed]) -> tuple[Landed, ...]:
    """The partitions that no run has seen yet, with the offset at which their landing starts.

    A topic that is new to the source starts at what the broker still has. A new partition, or a new
    incarnation, of a topic that the source already follows starts at 0: what is missing there was
    lost while we were watching, and `plan` will call it a gap.
    """
    known = list(registered)
    topics = {landed.topic for landed in known if not is_again(landed.topic_id)}
    ids = {(landed.topic_id, landed.partition) for landed in known}
    firsts = (
        (mark, 0 if mark.topic in topics else mark.log_start)
        for mark in watermarks
        if (mark.topic_id, mark.partition) not in ids
    )
    return tuple(
        Landed(mark.topic, mark.topic_id, mark.partition, first, first) for mark, first in firsts
    )


def plan(
    watermarks: Iterable[Watermarks], registered: Iterable[Landed], limits: Limits
) -> LandingPlan:
    """The next landing run. Every partition of `watermarks` has to be registered."""
    next_offsets = {
        (landed.topic_id, landed.partition): landed.next_offset for landed in registered
    }
    segments: list[Segment] = []
    gaps: list[Gap] = []
    truncations: list[Truncation] = []
    carried_over = 0
    for mark in watermarks:
        following = next_offsets[mark.topic_id, mark.partition]
        place = (mark.topic, mark.topic_id, mark.partition)
        if mark.end < following:
            truncations.append(Truncation(*place, mark.end, following))
            continue
        start = max(following, mark.log_start)
        if following < start:
            gaps.append(Gap(*place, following, start))
        end = min(mark.end, start + limits.partition_records)
        carried_over += mark.end - end
        if start < end:
            segments.append(Segment(*place, start, end))
    return LandingPlan(_pack(segments, limits), tuple(gaps), tuple(truncations), carried_over)


def _pack(segments: list[Segment], limits: Limits) -> tuple[tuple[Segment, ...], ...]:
    """Groups of about equal size, the largest segment first to the emptiest group.

    A group is a task of its own only where that pays: starting one costs more than reading some
    thousand records.
    """
    total = sum(segment.end - segment.start for segment in segments)
    wanted = -(-total // limits.group_records)
    groups: list[list[Segment]] = [[] for _ in range(min(wanted, limits.groups, len(segments)))]
    sizes = [0] * len(groups)
    for segment in sorted(segments, key=_largest_first):
        emptiest = sizes.index(min(sizes))
        groups[emptiest].append(segment)
        sizes[emptiest] += segment.end - segment.start
    return tuple(tuple(group) for group in groups)


def _largest_first(segment: Segment) -> tuple[int, str, int]:
    return (segment.start - segment.end, segment.topic, segment.partition)
