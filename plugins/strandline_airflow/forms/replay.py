"""`replay__SOURCE`: tables are rebuilt from landing, compared with what is published, swapped."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param

from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut, Work
from strandline.runs.rebuild import Rebuild
from strandline.sources.source import Source
from strandline_airflow.pipelines.pipeline import Form, ordered
from strandline_airflow.runs import orders
from strandline_airflow.runs.orders import Order

if TYPE_CHECKING:
    from strandline_airflow.runs.published import Published

_PARAMS = {
    "tables": orders.tables("The tables to rebuild; none: all."),
    "swap": Param(
        False,
        type="boolean",
        title="Swap",
        description="Put what was rebuilt in the place of the table. Else it is only compared, and "
        "the task's log says how they differ.",
    ),
    "undo": Param(
        None,
        type=["null", "integer"],
        minimum=1,
        title="Undo",
        description="Instead of rebuilding anything: the number of a run that swapped. Its tables "
        "become what they were before; what was applied since is applied again by the next run.",
    ),
    "dry_run": orders.dry_run(),
}


def order(source: Source, params: dict[str, Any], _run_after: datetime) -> Order:
    """What the form asks for; `SpecError` where there is nothing to rebuild or to take back."""
    from strandline_airflow.runs.publications import Publications

    lake = SourceLake(source.lake, source.name)
    rows = orders.chosen(source, Publications(lake).last(), params["tables"])
    if params["undo"] is not None:
        if params["swap"]:
            raise SpecError("'undo' takes a swap back and makes none: leave 'swap' unticked")
        known = {str(row.table) for row in rows}
        return _undo(lake, source, params["undo"], known, params["tables"])
    there = [row for row in rows if row.made_version >= 0]
    if not there:
        raise SpecError(f"nothing of {source.name} that was named has a history to be rebuilt yet")
    rebuild = Rebuild(_versions(lake, there), swap=params["swap"])
    counted = (f"{row.table}: {_applied(row)} offsets are read again" for row in there)
    end = "it then takes the place of the table" if params["swap"] else "nothing is replaced"
    return Order(
        work=Work.REPLAY,
        tables=tuple(
            TableCut(str(row.table), row.topic, orders.applied_of(row), source.rules(row.topic))
            for row in there
        ),
        options=asdict(rebuild),
        lines=(*counted, f"what comes of it is compared with the published versions; {end}"),
    )


def _versions(lake: SourceLake, rows: Iterable["Published"]) -> dict[str, dict[str, int]]:
    from strandline.alone.stores import tables

    def version(path: str) -> int:
        stored = tables.opened(path)
        return -1 if stored is None else stored.version()

    quarantine = version(lake.quarantine)
    return {
        table: {
            "history": version(lake.history(table)),
            "records": version(lake.records(table)),
            "changes": version(lake.changes(table)),
            "deleted_keys": version(lake.deleted_keys(table)),
            "moves": version(lake.moves(table)),
            "quarantine": quarantine,
        }
        for table in (str(row.table) for row in rows)
    }


def _undo(
    lake: SourceLake, source: Source, number: int, known: set[str], named: Iterable[str]
) -> Order:
    """The order that takes a run back, as far as it swapped the `known` tables.

    Raises `SpecError` where it swapped none of them, or not all that are `named`.
    """
    from strandline_airflow.runs.manifests import Manifests

    taken = Manifests(lake).numbered(number)
    if taken is None or taken.work is not Work.REPLAY or not Rebuild(**taken.order).swap:
        raise SpecError(
            f"run {number} of {source.name} swapped nothing: the log of task `replay` of the run "
            "to take back names its number"
        )
    cuts = tuple(cut for cut in taken.tables if cut.table in known)
    swapped = [cut.table for cut in taken.tables]
    others = [name for name in named if name not in swapped]
    if others or not cuts:
        raise SpecError(
            f"run {number} of {source.name} did not swap {', '.join(others or sorted(known))}: it "
            f"swapped {', '.join(swapped)}"
        )
    return Order(
        work=Work.UNDO,
        tables=cuts,
        options=asdict(Rebuild(undo=number)),
        lines=tuple(f"{cut.table} becomes what it was before run {number}" for cut in cuts),
    )


def _applied(row: "Published") -> int:
    return sum(offset for offsets in row.reached.values() for offset in offsets.values())


def _swaps(params: Mapping[str, Any]) -> bool:
    return bool(params["swap"]) or params["undo"] is not None


FORM = Form("replay", _PARAMS, order, acts=_swaps, approved=lambda approval: approval.swap)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
