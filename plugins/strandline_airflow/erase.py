"""`erase__SOURCE`: everything of given keys goes, from every store of a table."""
# ruff: noqa: PLC0415 - Delta and Arrow are imported by the tasks that use them

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param

from strandline import lookup
from strandline.erasure import Erasure, digest
from strandline.errors import SpecError, Terminal
from strandline.lake import SourceLake
from strandline.manifest import TableCut, Work
from strandline.source import Source
from strandline_airflow import orders
from strandline_airflow.orders import Order
from strandline_airflow.pipeline import Form, ordered

if TYPE_CHECKING:
    from strandline_airflow.publications import Published

_PARAMS = {
    "table": Param(
        "", type="string", title="Table", description="The table, as the page shows its name."
    ),
    "keys": Param(
        [],
        type="array",
        items={"type": "string", "minLength": 1},
        title="Keys",
        description='Its keys, one to a line: a value (`5`) or JSON (`{"id": 5}`). Every key that '
        "a row of theirs was moved from or to is erased with them.",
    ),
    "dry_run": orders.dry_run(True),
}


def order(source: Source, params: dict[str, Any], _run_after: datetime) -> Order:
    """What the form asks for; its lines and options name no key."""
    from strandline_airflow.publications import Publications

    if not params["table"] or not params["keys"]:
        raise SpecError("name the table and at least one of its keys in the form")
    lake = SourceLake(source.lake, source.name)
    (row,) = orders.chosen(source, Publications(lake).last(), [params["table"]])
    _refuse_waiting(source, lake, row)
    keys = _canonical(lake, row, params["keys"])
    return Order(
        work=Work.ERASE,
        tables=(TableCut(str(row.table), row.topic, (), source.rules(row.topic)),),
        options=asdict(Erasure(tuple(map(digest, keys)))),
        lines=(
            f"{row.table}: {len(keys)} keys with {_versions(lake, row, keys)} versions",
            "keys that they were moved from or to are erased with them",
            "their rows go from landing, quarantine, changes and history",
            "older versions of these tables can no longer be read",
        ),
    )


def _refuse_waiting(source: Source, lake: SourceLake, row: "Published") -> None:
    """`Terminal` where records wait that may be of the keys: nobody has read their keys yet."""
    from strandline_airflow.landing import LandingZone

    waiting = sum(
        one.next_offset - row.applied.get(one.topic_id, {}).get(one.partition, one.first_offset)
        for one in LandingZone(lake).landed()
        if one.topic == row.topic
    )
    if waiting > 0:
        raise Terminal(
            f"{waiting} offsets of {row.topic} are landed and not applied yet, and may be of these "
            f"keys: let compact__{source.name} apply them, then trigger this again"
            + (f". It is held: {row.held}" if row.held else "")
        )


def _canonical(lake: SourceLake, row: "Published", keys: list[str]) -> list[str]:
    from strandline_airflow import tables

    stored = tables.opened(lake.history(str(row.table)))
    found = [] if stored is None else tables.rows(stored, "SELECT _key FROM stored LIMIT 1")
    if not found:
        raise SpecError(f"{row.table} has no versions, so it has none of these keys")
    return sorted({lookup.like(key.strip(), str(found[0]["_key"])) for key in keys})


def _versions(lake: SourceLake, row: "Published", keys: list[str]) -> int:
    from strandline_airflow import tables

    stored = tables.opened(lake.history(str(row.table)))
    if stored is None:
        return 0
    counted = tables.rows(stored, "SELECT count(*) AS n FROM stored WHERE _key IN :keys", keys=keys)
    return int(counted[0]["n"])


FORM = Form("erase", _PARAMS, order)


def dag(source: Source, path: Path) -> DAG:
    """The DAG of a source."""
    return ordered(source, path, FORM)
