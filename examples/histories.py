"""Reads history tables from a lake as rows in the shape that `strandline history` prints."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from examples.tally import TableTally
from strandline.cells import rendering
from strandline.changes.version import INTERNAL_COLUMNS
from strandline.runs.lake import SourceLake
from strandline.runs.receipt import Receipt

_INTERNAL = frozenset(name for name, _ in INTERNAL_COLUMNS)


@dataclass(frozen=True, slots=True)
class History:
    """The rows of one table in key and source order, and the names of its key columns."""

    table: str
    key: tuple[str, ...]
    rows: tuple[dict[str, object], ...]


def receipts(lake: SourceLake) -> tuple[Receipt, ...]:
    """The receipts of a source's runs, oldest first; of a lake in a local folder."""
    found = sorted(Path(lake.home, "runs").glob("*/receipt.json"))
    return tuple(Receipt.from_json(path.read_text(encoding="utf-8")) for path in found)


def read(lake: SourceLake, table: TableTally) -> History:
    """The history of a table as of its last receipt.

    Through a query engine, since that is what reads deletion vectors: delta-rs refuses to hand out
    such a table as a plain Arrow dataset.
    """
    if table.history_version < 0:
        return History(table.table, (), ())
    history = DeltaTable(lake.history(table.table), version=table.history_version)
    found = (
        QueryBuilder()
        .register("history", history)
        .execute("SELECT * FROM history ORDER BY _key, _seq_from")
    )
    rows = pa.table(found.read_all()).to_pylist()
    key = tuple(json.loads(rows[0]["_key"])) if rows else ()
    return History(table.table, key, tuple(_printed(table.topic, row) for row in rows))


def _printed(topic: str, row: dict[str, object]) -> dict[str, object]:
    cells = {name: value for name, value in row.items() if name not in _INTERNAL}
    printed: dict[str, object] = json.loads(rendering.line(topic, cells))
    return printed


def rows_of(histories: tuple[History, ...]) -> Iterator[dict[str, object]]:
    """The rows of all tables, one after the other."""
    for history in histories:
        yield from history.rows
