"""The steps of one landing run, in their order: plan, land, and what to tell about it."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from airflow.sdk import conf

from strandline.runs.lake import SourceLake
from strandline.runs.segment import Limits, Segment, Truncation, is_again, newcomers
from strandline.runs.segment import plan as plan_segments
from strandline.sources.source import Source
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.ledger import Look
from strandline_airflow.registry.lookup import Lookup

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Planned:
    """The segments of each task, and a line for everything that somebody should know."""

    groups: tuple[tuple[Segment, ...], ...]
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a run landed of one topic: `next_offsets` by partition."""

    topic: str
    rows: int
    next_offsets: Mapping[int, int]


def plan(source: Source, run_after: datetime) -> Planned:
    """Decides what this run reads, and registers every partition before anything of it is landed.

    Gaps are put on record under the run's time, so a retry still reports them. Schemas that landing
    has asked for in vain are asked for again, whether anything new has arrived or not.
    """
    zone = LandingZone(SourceLake(source.lake, source.name), Look())
    zone.ensure()
    Lookup(source).again()
    known = {*(one.topic for one in zone.registered()), *(table.topic for table in source.tables)}
    with opened(source) as kafka:
        barrier = kafka.barrier(source.owns, known)
    if not barrier.watermarks:
        log.info("Kafka has no topic of %s yet (prefix '%s')", source.name, source.topic_prefix)
    landed = zone.landed()
    if new := newcomers(barrier.watermarks, landed):
        zone.register(new)
        landed = zone.landed()
    limits = Limits(groups=min(source.max_segments, conf.getint("core", "max_map_length")))
    planned = plan_segments(barrier.watermarks, zone.past_gaps(landed), limits)
    # Of an old run that is repeated the time says nothing of when a gap was found.
    gaps = zone.record_gaps(planned.gaps, run_after, barrier.taken_at)
    log.info(
        "%d partitions: %d tasks are to land %d offsets, %d are left to the next run, %d gaps",
        len(barrier.watermarks),
        len(planned.groups),
        sum(segment.end - segment.start for group in planned.groups for segment in group),
        planned.carried_over,
        len(gaps),
    )
    findings = (
        *map(_retention, gaps),
        *map(_truncated, planned.truncations),
        *map(_no_leader, barrier.unanswered),
        *barrier.forbidden.values(),
    )
    return Planned(planned.groups, findings)


def land(
    source: Source, segments: Sequence[Segment], run_after: datetime, connection: str | None = None
) -> list[dict[str, Any]]:
    """Lands the segments of one task; a line of progress for each, as JSON objects.

    `connection` names another cluster than the source's own, whose lag tools are told nothing.
    """
    zone = LandingZone(SourceLake(source.lake, source.name))
    with opened(source, connection) as kafka:
        log.info("Reading %s from %s", label(segments), kafka.servers)
        day, lookup = run_after.date(), Lookup(source)
        progress = zone.land(kafka, segments, day, source.segment_bytes, lookup.land)
        if not any(is_again(segment.topic_id) for segment in segments):
            kafka.report_progress({(one.topic, one.partition): one.next_offset for one in progress})
    return [asdict(one) for one in progress]


def arrivals(
    source: Source, segments: Iterable[Segment], progress: Iterable[Mapping[str, Any]]
) -> tuple[Arrival, ...]:
    """What arrived of the planned segments, topic by topic, from the progress of the tasks.

    A task that failed tells nothing; what it had landed by then is in the log.
    """
    done = list(progress)
    known = {(one["topic_id"], one["partition"]) for one in done}
    missing = [one for one in segments if (one.topic_id, one.partition) not in known]
    if missing:
        zone = LandingZone(SourceLake(source.lake, source.name))
        done.extend(asdict(one) for one in zone.progress(missing))
    rows: dict[str, int] = {}
    next_offsets: dict[str, dict[int, int]] = {}
    for one in done:
        topic = one["topic"]
        rows[topic] = rows.get(topic, 0) + one["rows"]
        next_offsets.setdefault(topic, {})[one["partition"]] = one["next_offset"]
    return tuple(
        Arrival(topic, count, next_offsets[topic]) for topic, count in sorted(rows.items()) if count
    )


def label(segments: Sequence[Segment]) -> str:
    """What a task's segments are, short enough for its name."""
    first, *others = map(str, segments)
    return f"{first} and {len(others)} more" if others else first


def opened(source: Source, connection: str | None = None) -> KafkaSegments:
    """The source's cluster, or that of another connection."""
    return KafkaSegments(connection or source.kafka_connection, group=f"strandline.{source.name}")


def _retention(gap: object) -> str:
    return (
        f"{gap}: Kafka's retention deleted them before they were landed. Their tables may miss "
        "changes until the connector takes a new snapshot; land more often than Kafka forgets"
    )


def _truncated(truncation: Truncation) -> str:
    return (
        f"{truncation}: the broker lost records (unclean leader election, restored disk), or the "
        f"topic was re-created and still has the id {truncation.topic_id}. Nothing of this "
        "partition is landed meanwhile, and what it holds below that offset never is. Let the "
        "connector take a new snapshot into a new topic prefix, and give the source that prefix"
    )


def _no_leader(line: str) -> str:
    return f"{line}: this partition did not answer, the others were landed"
