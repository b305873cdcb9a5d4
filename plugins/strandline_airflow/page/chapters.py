"""What is shown of a source: how it stands, what it lacks, and what its DAGs have done last."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from strandline.errors import StrandlineError
from strandline.runs.standing import SourceStanding, Verdict
from strandline.sources.source import Source
from strandline_airflow.folder import folder_of_sources
from strandline_airflow.monitoring import catalogue, watching
from strandline_airflow.page import chart, readiness
from strandline_airflow.page.api import RUNS_SHOWN, Api, Run

log = logging.getLogger(__name__)

_STANDING = {Verdict.QUARANTINE: "with more in quarantine than may be"}
KAFKA_PATIENCE = 3.0  # seconds that a view waits for a broker

_kafka = ThreadPoolExecutor(max_workers=4, thread_name_prefix="strandline-kafka")


def chapter(source: Source, now: datetime, api: Api, *, ask_kafka: bool = False) -> dict[str, Any]:
    """What is shown of a source; where its lake cannot be read, why."""
    dags = [f"{what}__{source.name}" for what in ("land", "compact")]
    try:
        standing, conditions = standing_of(source, ask_kafka=ask_kafka), watching.of_source(source)
        error = ""
    except StrandlineError as unreadable:
        log.warning("%s: %s", source.name, unreadable)
        standing, conditions = SourceStanding(source.name, source.default_tolerance, ()), ()
        error = str(unreadable)
    runs = sorted(chain(*(api.runs(dag)[1] for dag in dags)), key=_began, reverse=True)
    tables = sorted(standing.tables, key=lambda each: (not each.troubled(now), each.table))
    return {
        "source": source,
        "standing": standing,
        "tables": tables,
        "error": error,
        "told": conditions,
        "day": chart.day_of_source(standing.runs, now),
        "paused": sorted(api.paused() & set(dags)),
        "lacking": list(
            readiness.lacking(source, folder_of_sources() / f"{source.name}.toml", api.pools())
        ),
        "failed": readiness.failing(runs),
        "dag_runs": runs[:RUNS_SHOWN],
    }


def lead(chapters: Iterable[Mapping[str, Any]], refused: int, now: datetime) -> str:
    """In a line how many tables stand how, the worst first, and how many sources fail."""
    every = list(chapters)
    found = Counter(table.verdict(now) for each in every for table in each["tables"])
    failing = sum(bool(each["failed"] or each["error"] or each["told"]) for each in every)
    lacking = refused + sum(bool(each["lacking"]) for each in every)
    counted = [(failing, "failing"), (lacking, "not set up")]
    sources = [f"{count:,} {what}" for count, what in counted if count]
    tables = [
        f"{found[verdict]:,} {_STANDING.get(verdict, verdict)}"
        for verdict in Verdict
        if found[verdict]
    ]
    told = [
        f"{kind}: {', '.join(parts)}"
        for kind, parts in (("Sources", sources), ("Tables", tables))
        if parts
    ]
    return ". ".join(told) or "Nothing has landed yet"


def calm(now: datetime, chapter: Mapping[str, Any]) -> tuple[bool, str]:
    """Sorts sources in trouble before the others."""
    trouble = any(chapter[name] for name in ("failed", "error", "told", "lacking"))
    troubled = any(table.troubled(now) for table in chapter["tables"])
    return not (trouble or troubled), chapter["source"].name


def found_in(part: str, chapter: Mapping[str, Any]) -> dict[str, Any]:
    """A chapter with those tables alone whose names have the part, in whatever case."""
    wanted = part.strip().lower()
    tables = [table for table in chapter["tables"] if wanted in table.table.lower()]
    return {**chapter, "tables": tables}


def standing_of(source: Source, *, ask_kafka: bool = False) -> SourceStanding:
    """How the source stands; without Kafka's word where it keeps a reader waiting."""
    if not ask_kafka:
        return catalogue.standing(source)
    asked = _kafka.submit(catalogue.standing, source, ask_kafka=True)
    try:
        return asked.result(KAFKA_PATIENCE)
    except Late:
        asked.cancel()  # where it still waits for its turn behind others
        silent = f"Kafka did not answer within {KAFKA_PATIENCE:.0f} s"
        return replace(catalogue.standing(source), silent=silent)


def _began(run: Run) -> datetime:
    """When a run started; one that has not is the newest."""
    return run["start_date"] or datetime.max.replace(tzinfo=UTC)
