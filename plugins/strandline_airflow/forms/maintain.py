"""`maintain__SOURCE`: OPTIMIZE, VACUUM and the source's retention, on a schedule or by hand."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

import math
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param

from strandline.runs.manifest import TableCut, Work
from strandline.runs.upkeep import Upkeep
from strandline.sources import duration
from strandline.sources.retention import Retention
from strandline.sources.source import Source
from strandline_airflow.pipelines.pipeline import Form, ordered
from strandline_airflow.pipelines.schedules import cron
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

_PARAMS = {
    "tables": orders.tables("The tables to tend; none: all."),
    "optimize": Param(
        True,
        type="boolean",
        title="Optimize",
        description="Write many small files together into few (OPTIMIZE).",
    ),
    "vacuum": Param(
        True,
        type="boolean",
        title="Vacuum",
        description="Delete files that no version needs which may still be read (VACUUM).",
    ),
    "retention": Param(
        True,
        type="boolean",
        title="Retention",
        description="Delete what [retention] in the source file no longer keeps.",
    ),
    "dry_run": orders.dry_run(),
}


def order(source: Source, params: dict[str, Any], run_after: datetime) -> Order:
    """What the form asks for, with every moment pinned to the run's own time."""
    from strandline.runs.lake import SourceLake
    from strandline_airflow.runs.publications import Publications

    last = Publications(SourceLake(source.lake, source.name)).last()
    rows = orders.chosen(source, last, params["tables"])
    upkeep = Upkeep(
        keep_hours=math.ceil(source.retention.versions / timedelta(hours=1)),
        optimize=params["optimize"],
        vacuum=params["vacuum"],
        published={str(row.table): row.history_version for row in rows},
        **(_horizons(source.retention, run_after) if params["retention"] else {}),
    )
    return Order(
        work=Work.MAINTAIN,
        tables=tuple(
            TableCut(str(row.table), row.topic, orders.applied_of(row), source.rules(row.topic))
            for row in rows
        ),
        control=tuple(each for row in last if row.table is None for each in orders.applied_of(row)),
        options=asdict(upkeep),
        lines=(f"{len(rows)} tables of {source.name} and its stores", *_told(upkeep)),
    )


def _horizons(retention: Retention, run_after: datetime) -> dict[str, str]:
    """What is older than these moments goes; landing by whole days, as it is partitioned."""
    found = {}
    if retention.landing:
        found["landing"] = (run_after - retention.landing).astimezone(UTC).date().isoformat()
    for name in ("history", "changes"):
        length = getattr(retention, name)
        if length:
            found[name] = (run_after - length).astimezone(UTC).isoformat()
    return found


def _told(upkeep: Upkeep) -> tuple[str, ...]:
    """What is done, line by line; that it is nothing, where it is nothing, with the way out."""
    nothing = (
        "nothing to do: tick optimize or vacuum, or say in [retention] of the source file what may "
        "go, and tick retention"
    )
    return tuple(_lines(upkeep)) or (nothing,)


def _lines(upkeep: Upkeep) -> Iterator[str]:
    if upkeep.landing:
        yield f"forget applied records that were landed before {upkeep.landing}"
    if upkeep.history:
        yield f"forget versions that ended before {upkeep.history}, but the last one of each key"
    if upkeep.changes:
        yield f"forget updates before {upkeep.changes} that no version needs any more"
    if upkeep.vacuum:
        yield (
            "delete files of versions that are no longer current for "
            f"{duration.shown(timedelta(hours=upkeep.keep_hours))} and not published"
        )
    if upkeep.optimize:
        yield "write many small files together into few"


FORM = Form("maintain", _PARAMS, order, scheduled={"dry_run": False})


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source; without `[schedule] maintain` only people trigger it."""
    return ordered(source, path, FORM, cron(source.maintain_schedule))
