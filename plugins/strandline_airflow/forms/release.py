"""`release__SOURCE`: tables that are not as expected are published all the same, once."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, get_current_context

from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.release import Release
from strandline.sources.source import Source
from strandline_airflow.pipelines.pipeline import Form, ordered
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

_NOBODY = "nobody that Airflow names"  # a run that another DAG has triggered

_PARAMS = {
    "tables": orders.tables("The tables to publish as they are."),
    "why": orders.text("Why", "Why that is right. It is kept with the publication, and your name."),
    "dry_run": orders.dry_run(),
}


def order(source: Source, params: dict[str, Any], _run_after: datetime) -> Order:
    """What the form asks for; `SpecError` where one of the tables is not withheld."""
    from strandline_airflow.runs.publications import Publications

    why = (params["why"] or "").strip()
    if not params["tables"] or not why:
        raise SpecError("name the tables in the form, and say why they may be published")
    last = Publications(SourceLake(source.lake, source.name)).last()
    rows = orders.chosen(source, last, params["tables"])
    free = [str(row.table) for row in rows if row.withheld is None]
    if free:
        there = ", ".join(str(row.table) for row in last if row.withheld is not None)
        raise SpecError(
            f"nothing of {', '.join(free)} is withheld by an expectation; of {source.name} there "
            f"is {there or 'nothing'}"
        )
    release = Release([row.topic for row in rows], by="", why=why)
    return Order(
        work=Work.RELEASE,
        tables=(),
        options=asdict(release),
        lines=tuple(row.withheld.why for row in rows if row.withheld is not None),
        read=_by,
    )


def _by() -> dict[str, str]:
    """Who has triggered the run."""
    return {"by": get_current_context()["dag_run"].triggering_user_name or _NOBODY}


FORM = Form("release", _PARAMS, order, needs_spark=False)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
