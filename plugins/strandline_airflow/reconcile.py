"""`reconcile__SOURCE`: a table against a snapshot of the source's rows; lists differences."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from dataclasses import asdict
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from airflow.sdk import DAG, Param

from strandline.errors import SpecError
from strandline.lake import SourceLake
from strandline.manifest import TableCut, Work
from strandline.reconciliation import FORMATS, Reconciliation
from strandline.source import Source
from strandline_airflow import orders
from strandline_airflow.orders import Order
from strandline_airflow.pipeline import Form, ordered

_PARAMS = {
    "table": Param(
        "", type="string", title="Table", description="The table, as the page shows its name."
    ),
    "snapshot": Param(
        "",
        type="string",
        title="Snapshot",
        description="The source's rows: a file or folder that Spark can read, ending in .csv (with "
        "a header), .parquet, .jsonl or .ndjson.",
    ),
    "as_of": orders.moment("As of", "When the rows were read from the source, by its clock."),
    "null": Param("", type="string", title="NULL", description="How a CSV file writes NULL."),
    "dry_run": orders.dry_run(True),
}


def order(source: Source, params: dict[str, Any], _run_after: datetime) -> Order:
    """What the form asks for."""
    from strandline_airflow.publications import Publications

    if not params["table"] or not params["snapshot"]:
        raise SpecError("name the table and the snapshot of its rows in the form")
    moment = orders.instant(params["as_of"], "as_of")
    if moment is None:
        raise SpecError("'as_of' is missing: when were the rows read from the source?")
    kind = FORMATS.get(PurePosixPath(params["snapshot"].rstrip("/")).suffix)
    if kind is None:
        raise SpecError(f"'snapshot' must end in one of {', '.join(FORMATS)}")
    lake = SourceLake(source.lake, source.name)
    (row,) = orders.chosen(source, Publications(lake).last(), [params["table"]])
    if row.history_version < 0:
        raise SpecError(f"{row.table} has no history yet: let compact__{source.name} make it")
    options = Reconciliation(params["snapshot"], kind, moment.isoformat(), params["null"])
    return Order(
        work=Work.RECONCILE,
        tables=(TableCut(str(row.table), row.topic, (), source.rules(row.topic)),),
        options=asdict(options),
        lines=(
            f"{row.table} as of {options.as_of} is compared with {options.snapshot} ({kind})",
            f"differences are listed in {lake.differences}; nothing is corrected",
        ),
    )


FORM = Form("reconcile", _PARAMS, order)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
