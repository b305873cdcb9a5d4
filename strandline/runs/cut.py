"""The cut: which landed offsets the next compaction run applies, decided without looking at rows.

Pure: how far partitions are landed and applied goes in, a manifest comes out. A table whose last
run failed has old applied offsets, so its next cut begins where the failed one began.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from strandline.errors import Terminal
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.segment import Landed
from strandline.sources.source import Source

_HEARTBEATS = "__debezium-heartbeat."


@dataclass(frozen=True, slots=True)
class Pin:
    """What makes a run the run that it is; the fields are those of `Manifest`."""

    number: int
    planned_at: str
    landing_version: int
    schemas_version: int = -1


def next_manifest(
    source: Source,
    pin: Pin,
    landed: Iterable[Landed],
    applied: Mapping[tuple[str, int], int],
    held: Collection[str] = (),
) -> Manifest | None:
    """The manifest of the run, or None where nothing but heartbeats was landed since the last one.

    `landed` is the state of every registered partition at the pinned version of the landing table,
    `applied` the next offset to apply by topic id and partition, absent where nothing is applied.
    `held` are topics whose tables the last compaction has failed on: they are visited, whether it
    had records for them or a notice alone.
    Raises `Terminal` where two topics feed one table, whichever of them has news.
    """
    landed = list(landed)
    ranges = _ranges_by_topic(landed, applied)
    if not any(is_news(topic) for topic in ranges):
        return None
    _check_names(source, landed)
    return Manifest(
        source=source.name,
        connector=source.connector,
        lake=source.lake,
        number=pin.number,
        planned_at=pin.planned_at,
        landing_version=pin.landing_version,
        schemas_version=pin.schemas_version,
        way=source.way,
        tables=_tables(source, _visited(source, ranges, landed, held)),
        control=tuple(
            offsets
            for topic, topic_ranges in ranges.items()
            if source.is_control(topic)
            for offsets in topic_ranges
        ),
    )


def waiting(landed: Iterable[Landed], applied: Mapping[tuple[str, int], int]) -> dict[str, int]:
    """How many landed offsets of each topic wait to be applied, but for heartbeats."""
    return {
        topic: sum(offsets.end - offsets.start for offsets in ranges)
        for topic, ranges in _ranges_by_topic(landed, applied).items()
        if is_news(topic)
    }


def is_news(topic: str) -> bool:
    """False for heartbeats: they alone are no reason to start Spark."""
    return not topic.startswith(_HEARTBEATS)


def _ranges_by_topic(
    landed: Iterable[Landed], applied: Mapping[tuple[str, int], int]
) -> dict[str, list[OffsetRange]]:
    ranges: defaultdict[str, list[OffsetRange]] = defaultdict(list)
    for state in sorted(landed, key=lambda state: (state.topic, state.topic_id, state.partition)):
        start = applied.get((state.topic_id, state.partition), state.first_offset)
        if start < state.next_offset:
            ranges[state.topic].append(
                OffsetRange(state.topic, state.topic_id, state.partition, start, state.next_offset)
            )
    return dict(ranges)


def _visited(
    source: Source,
    ranges: Mapping[str, list[OffsetRange]],
    landed: Iterable[Landed],
    held: Collection[str],
) -> dict[str, list[OffsetRange]]:
    """The topics to visit: where a notice came, every table, since it may end a snapshot of it."""
    notified = any(source.notifies(topic) for topic in ranges)
    others = _known(landed) if notified else held
    return {topic: ranges.get(topic, []) for topic in sorted({*ranges, *others})}


def _tables(source: Source, ranges: Mapping[str, list[OffsetRange]]) -> tuple[TableCut, ...]:
    cuts = (
        TableCut(source.table_name(topic), topic, tuple(ranges[topic]), source.rules(topic))
        for topic in ranges
        if not source.is_control(topic)
    )
    return tuple(sorted(cuts, key=lambda cut: cut.table))


def _check_names(source: Source, landed: Iterable[Landed]) -> None:
    """Topics that are never cut together would write one table in turn, unseen."""
    feeding: dict[str, str] = {}
    for topic in sorted(_known(landed)):
        if source.is_control(topic):
            continue
        table = source.table_name(topic)
        other = feeding.setdefault(table, topic)
        if other != topic:
            raise Terminal(
                f"source {source.name}: topics '{other}' and '{topic}' both feed table "
                f"'{table}': give one of them another name in a [[table]] section of its file"
            )


def _known(landed: Iterable[Landed]) -> set[str]:
    """The topics of which anything was ever landed."""
    return {state.topic for state in landed if state.next_offset > state.first_offset}
