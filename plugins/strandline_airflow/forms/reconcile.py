"""`reconcile__SOURCE`: a table against the source's own rows; lists differences, corrects them."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from airflow.sdk import DAG, Param

from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut, Work
from strandline.runs.reconciliation import FORMATS, Reconciliation, is_pattern, is_whole_path
from strandline.sources.source import Source
from strandline_airflow.pipelines.pipeline import Form, ordered
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

_PARAMS = {
    "table": Param(
        "", type="string", title="Table", description="The table, as the page shows its name."
    ),
    "snapshot": orders.text(
        "Snapshot",
        "The source's rows: a file or folder that the tasks can read, ending in .csv (with "
        "a header), .parquet, .jsonl or .ndjson. Or leave it empty, and ask the database:",
    ),
    "connection": orders.text(
        "Connection",
        "An Airflow connection to the source's database, in place of a snapshot.",
    ),
    "query": orders.text(
        "Query",
        "What to ask it for: SELECT with the table's key, and the columns to compare.",
    ),
    "as_of": orders.moment(
        "As of",
        "When the rows were read from the source, by its clock. With a connection: when the query "
        "was sent, unless it says otherwise.",
    ),
    "null": orders.text("NULL", "How a CSV file writes NULL."),
    "correct": Param(
        False,
        type="boolean",
        title="Correct",
        description="Let the history say from As of on what the source does, but for keys that "
        "changed since: wrong versions are closed by snapshot_correction, rows that the source "
        "lacks by snapshot_absent. Run it without this first, and look at the differences.",
    ),
    "dry_run": orders.dry_run(),
}


def order(source: Source, params: dict[str, Any], run_after: datetime) -> Order:
    """What the form asks for, as far as it can be told without reading any rows."""
    from strandline_airflow.runs.publications import Publications

    options, described = _compared_with(params, run_after)
    lake = SourceLake(source.lake, source.name)
    (row,) = orders.chosen(source, Publications(lake).last(), [params["table"]])
    if row.made_version < 0:
        raise SpecError(f"{row.table} has no history yet: let compact__{source.name} make it")
    read = None
    _check_rows(source, params)
    if params["connection"]:
        options = replace(options, snapshot=lake.snapshot(str(row.table)))
        read = partial(_read, options, params["connection"], params["query"])
    follows = "the history is corrected" if options.correct else "nothing is corrected"
    return Order(
        work=Work.RECONCILE,
        tables=(TableCut(str(row.table), row.topic, (), source.rules(row.topic)),),
        options=asdict(options),
        lines=(
            f"{row.table} as of {options.as_of or 'the query'} is compared with {described}",
            f"differences are listed in {lake.differences}; {follows}",
        ),
        read=read,
    )


def _check_rows(source: Source, params: Mapping[str, Any]) -> None:
    """Refuses rows that are nowhere: a connection that is missing, a file that is not there."""
    if params["connection"]:
        from strandline_airflow.forms import database

        database.check(params["connection"])
    elif source.alone and not is_whole_path(params["snapshot"]):
        raise SpecError(
            f"'snapshot': {params['snapshot']} is not the whole path or URI of one file or folder: "
            f"without Spark {source.name} reads no other"
        )
    # A lake elsewhere says nothing of where Spark runs, nor of which files it sees there.
    elif "://" not in source.lake and _is_missing(params["snapshot"]):
        raise SpecError(
            f"'snapshot': there is nothing at {params['snapshot']}: it has to be where the tasks "
            "run, under its whole path"
        )


def _is_missing(snapshot: str) -> bool:
    """Whether it names a file or folder of this machine's that is not there."""
    path = f"/{snapshot.removeprefix('file:').lstrip('/')}"
    if not snapshot.startswith(("/", "file:/")) or is_pattern(path):
        return False
    try:
        return not Path(path).exists()
    except OSError:  # what this process may not see, Spark may
        return False


def _compared_with(params: Mapping[str, Any], run_after: datetime) -> tuple[Reconciliation, str]:
    """The snapshot that the form names, and what to call it."""
    named = bool(params["snapshot"]), bool(params["connection"])
    if not params["table"] or named == (False, False):
        raise SpecError("name the table in the form, and the snapshot of its rows or a connection")
    if named == (True, True):
        raise SpecError("name a snapshot or a connection, not both")
    moment = orders.instant(params["as_of"], "as_of", by=run_after)
    as_of = "" if moment is None else moment.isoformat()
    if params["connection"]:
        if not params["query"]:
            raise SpecError("'query' is missing: what is the database to be asked for?")
        described = f"what connection '{params['connection']}' answers"
        return Reconciliation("", "delta", as_of, correct=params["correct"]), described
    if moment is None:
        raise SpecError("'as_of' is missing: when were the rows read from the source?")
    kind = FORMATS.get(PurePosixPath(params["snapshot"].rstrip("/")).suffix)
    if kind is None:
        raise SpecError(f"'snapshot' must end in one of {', '.join(FORMATS)}")
    return (
        Reconciliation(params["snapshot"], kind, as_of, params["null"] or "", params["correct"]),
        f"{params['snapshot']} ({kind})",
    )


def _read(options: Reconciliation, connection: str, query: str) -> Mapping[str, Any]:
    from strandline_airflow.forms import database

    asked = database.copied(connection, query, options.snapshot)
    return {"as_of": options.as_of or asked.isoformat()}


FORM = Form("reconcile", _PARAMS, order)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
