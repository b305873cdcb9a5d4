"""The history of a table as it was published, and its rows as they are printed."""

import json
from collections.abc import Mapping
from typing import Any

from deltalake import DeltaTable

from strandline.alone.stores import tables
from strandline.cells import rendering
from strandline.changes.version import INTERNAL_COLUMNS
from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.standing import TableStanding
from strandline.sources.source import Source

_INTERNAL = frozenset(name for name, _ in INTERNAL_COLUMNS)


def history(source: Source, table: TableStanding) -> DeltaTable:
    """The history as it was published."""
    uri = SourceLake(source.lake, source.name).history(table.table)
    stored = tables.opened(uri, table.history_version) if table.history_version >= 0 else None
    if stored is None:
        raise SpecError(
            f"{table.table} has no published history yet: trigger compact__{source.name}"
            + (f". It is held: {table.held}" if table.held else "")
        )
    return stored


def printed(topic: str, row: Mapping[str, Any]) -> dict[str, Any]:
    cells = {name: value for name, value in row.items() if name not in _INTERNAL}
    printed: dict[str, Any] = json.loads(rendering.line(topic, cells))
    return printed
