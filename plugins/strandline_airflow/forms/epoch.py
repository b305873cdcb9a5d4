"""`epoch__SOURCE`: declares that the source's log goes on in a new lineage, as after a failover."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowSkipException

from strandline.changes.rules import since as milliseconds
from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.sources.source import Source
from strandline_airflow.pipelines.pipeline import pipeline
from strandline_airflow.runs import orders

log = logging.getLogger(__name__)

_COUNTED = (
    'SELECT topic, topic_id, "partition", min("offset") AS first, count(*) AS records FROM stored'
    ' WHERE "timestamp" >= to_timestamp(:since) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3'
)

PARAMS = {
    "since": orders.moment(
        "Since",
        "Records with this Kafka time or later are of the new lineage: a moment after the last "
        "record of the old one, and before the first of the new one.",
    ),
    "note": orders.text("Note", "Why; it is kept beside the epoch."),
    "dry_run": orders.dry_run(),
}


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    with pipeline(source, path, "epoch", None, PARAMS) as made:

        @task(task_id="declare")
        def declare() -> int:
            with orders.filled_in(PARAMS) as (params, run_after):
                number = run(source, params, run_after)
            if number is None:
                raise AirflowSkipException("dry run: the plan is in this log, nothing was changed")
            return number

        declare()
    return made


def run(source: Source, params: dict[str, Any], run_after: datetime) -> int | None:
    """Declares the epoch; its number, None where only the plan was asked for."""
    from strandline_airflow.runs.epochs import Epochs, shown

    moment = orders.instant(params["since"], "since", by=run_after)
    if moment is None:
        raise SpecError("'since' is missing: when does the new lineage begin, by Kafka's clock?")
    epochs = Epochs(source)
    epoch = epochs.following(milliseconds(moment))
    log.info("Epoch %d of %s begins at %s", epoch.number, source.name, shown(epoch.since))
    for table, count in applied_since(source, moment).items():
        log.warning(
            "%s: %d of its records are applied as if they were of the lineage before; rebuild it: "
            "trigger replay__%s with swap",
            table,
            count,
            source.name,
        )
    if params["dry_run"]:
        log.info(orders.DRY)
        return None
    news = epochs.declare(epoch, run_after.isoformat(), params["note"] or "")
    log.info("Epoch %d %s", epoch.number, "is declared" if news else "was declared before")
    return epoch.number


def applied_since(source: Source, moment: datetime) -> dict[str, int]:
    """By table: records of that Kafka time or later that are applied already."""
    from strandline.alone.stores import tables
    from strandline_airflow.runs.publications import Publications

    lake = SourceLake(source.lake, source.name)
    stored = tables.opened(lake.landing)
    applied = Publications(lake).applied()
    found: dict[str, int] = {}
    for row in [] if stored is None else tables.rows(stored, _COUNTED, since=moment.isoformat()):
        end = applied.get((row["topic_id"], row["partition"]), 0)
        if row["first"] < end and not source.is_control(row["topic"]):
            name = source.table_name(row["topic"])
            found[name] = found.get(name, 0) + min(row["records"], end - row["first"])
    return found
