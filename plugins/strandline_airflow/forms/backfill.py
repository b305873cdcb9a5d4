"""`backfill__SOURCE`: offsets or times are landed again, from the source's cluster or another one.

What is landed again lies beside the first time, under an incarnation of its own. So compaction
finds it by itself: what was lost comes late to its place, what is there already is a re-delivery.
"""
# ruff: noqa: PLC0415 - Kafka, Delta and Arrow are imported by the tasks that use them

import logging
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, task
from airflow.sdk.exceptions import AirflowSkipException

from strandline.changes.rules import since as milliseconds
from strandline.errors import SpecError, Terminal, Transient
from strandline.runs import backfill
from strandline.runs.backfill import Wanted
from strandline.runs.lake import SourceLake
from strandline.runs.segment import Landed, Segment
from strandline.sources.nearness import nearest
from strandline.sources.source import Source
from strandline_airflow.pipelines import steps
from strandline_airflow.pipelines.pipeline import pipeline
from strandline_airflow.runs import orders

log = logging.getLogger(__name__)


def _offset(title: str, description: str) -> Param:
    return Param(None, type=["null", "integer"], minimum=0, title=title, description=description)


PARAMS = {
    "topics": orders.lines("Topics", "Kafka topics of the source, one to a line."),
    "partition": _offset("Partition", "Only this partition; none: all."),
    "start_offset": _offset("Start offset", "The first offset; none: what the cluster still has."),
    "end_offset": _offset("End offset", "The first offset that is not wanted; none: to the end."),
    "since": orders.moment("Since", "Only records with this Kafka time or later."),
    "until": orders.moment("Until", "Only records with an earlier Kafka time."),
    "connection": orders.text(
        "Connection",
        "The Airflow connection of another cluster that has the topics; none: the source's own.",
    ),
    "dry_run": orders.dry_run(),
}


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source: a plan, then landing as `land__SOURCE` does it."""
    with pipeline(source, path, "backfill", None, PARAMS) as made:

        @task(task_id="plan")
        def plan() -> list[list[dict[str, Any]]]:
            with orders.filled_in(PARAMS) as (params, run_after):
                planned = segments(source, params, run_after)
            if params["dry_run"]:
                log.info(orders.DRY)
                raise AirflowSkipException("dry run: the plan is in this log, nothing was changed")
            register(source, planned)
            return [[asdict(segment)] for segment in planned]

        groups = plan()
        landed = steps.land(source, connection="{{ params.connection or '' }}").expand(group=groups)
        [landed, steps.collect(source, groups, landed)] >> _report()
    return made


def _report() -> Any:
    # Last: `collect` runs whatever failed, and a run is what its leaves are.
    @task(task_id="report", trigger_rule="none_failed", retries=0)
    def report() -> None:
        """Says by its state whether everything went well."""

    return report()


def segments(source: Source, params: dict[str, Any], run_after: datetime) -> tuple[Segment, ...]:
    """What the form asks for, as far as the cluster has it; the same for every try of a run."""
    from strandline_airflow.landing.land_run import opened

    wanted = Wanted(params["partition"], params["start_offset"], params["end_offset"])
    since, until = orders.span(params)
    topics = list(dict.fromkeys(params["topics"]))
    if not topics:
        raise SpecError("name at least one topic in the form")
    for topic in topics:
        if not source.owns(topic):
            raise SpecError(
                f"topic '{topic}' is none of {source.name}: its topics begin with "
                f"'{source.topic_prefix}.', or are named in its source file"
            )
    with opened(source, params["connection"]) as kafka:
        barrier = kafka.barrier(source.owns, topics)
        for topic in topics:
            if topic in barrier.forbidden:
                raise Terminal(barrier.forbidden[topic])
        _refuse_silence(barrier.unanswered, topics, params["partition"])
        marks = barrier.watermarks
        there = sorted({mark.topic for mark in marks})
        missing = next((topic for topic in topics if topic not in there), None)
        if missing is not None:
            raise SpecError(f"the cluster has no topic '{missing}'; {nearest(missing, there)}")
        marks = tuple(mark for mark in marks if mark.topic in topics)
        times = tuple(
            kafka.offsets_at(marks, milliseconds(moment)) if moment else {}
            for moment in (since, until)
        )
    label = f"{run_after.astimezone(UTC):%Y%m%dT%H%M%S%f}"
    planned = backfill.segments(wanted, marks, (times[0], times[1]), label)
    for segment in planned:
        log.info("%s: %d offsets are landed again", segment, segment.end - segment.start)
    return planned


def _refuse_silence(
    unanswered: Iterable[str], topics: Iterable[str], partition: int | None
) -> None:
    """`Transient` where a wanted partition did not answer: it would be left out unseen."""
    place = "" if partition is None else f"{partition}]"
    wanted = tuple(f"{topic}[{place}" for topic in topics)
    silent = [line for line in unanswered if line.startswith(wanted)]
    if silent:
        raise Transient(
            f"{'; '.join(silent)}; nothing was landed: trigger this again once they have a leader, "
            "or ask for the others one by one with 'partition'"
        )


def register(source: Source, planned: tuple[Segment, ...]) -> None:
    """Puts the incarnations on record before anything of them is landed, once."""
    from strandline_airflow.landing.zone import LandingZone

    zone = LandingZone(SourceLake(source.lake, source.name))
    zone.ensure()
    zone.register(
        [
            Landed(each.topic, each.topic_id, each.partition, each.start, each.start)
            for each in planned
        ]
    )
