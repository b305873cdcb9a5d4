"""The last versions of keys in a history table, as the law goes on from them."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from strandline.alone.stores import history
from strandline.alone.stores.tables import MOST_NAMES, selected
from strandline.cells import values
from strandline.cells.types import ColumnType, Kind
from strandline.changes.columns import KEY, RECORDED_AT, SEQ_SEEN
from strandline.law.plain.continued import Heads
from strandline.law.versions import FIELDS

_NAMED = "SELECT * FROM stored WHERE _is_head AND _key IN :keys"
_EVERY = "SELECT * FROM stored WHERE _is_head"


@dataclass(frozen=True, slots=True)
class Stored:
    """Those of a history; `table` None: there is none yet."""

    table: DeltaTable | None

    def of(self, keys: AbstractSet[str], columns: Mapping[str, ColumnType]) -> Heads | None:
        """See `strandline.law.increment.LastVersions`."""
        if self.table is None or not history.has(self.table, columns):
            return None
        if len(keys) <= MOST_NAMES:
            named = sorted(keys) or [""]  # a list that is empty is no SQL, and no key is empty
            return of_rows(selected(self.table, _NAMED, keys=named), columns)
        rows = selected(self.table, _EVERY)
        wanted = pa.array(sorted(keys), rows[KEY].type)
        return of_rows(rows.filter(pc.is_in(rows[KEY], wanted)), columns)


def of_rows(rows: pa.Table, columns: Mapping[str, ColumnType]) -> Heads:
    """Rows of a history; columns that it has not are NULL."""
    own = {name: _plainly(rows[f"_{name}"]) for name in FIELDS}
    business = [
        _cells(rows[name], kind) if name in rows.column_names else [None] * rows.num_rows
        for name, kind in columns.items()
    ]
    return Heads(own, business, rows[SEQ_SEEN].to_pylist(), _plainly(rows[RECORDED_AT]))


def _plainly(column: pa.ChunkedArray) -> list[Any]:
    """A column; instants as microseconds since 1970."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return list(column.to_pylist())


def _cells(column: pa.ChunkedArray, of: ColumnType) -> list[object]:
    """Business cells as the law has them."""
    found = column.to_pylist()
    if of.kind is Kind.FLOAT:
        return [None if value is None else values.single(value) for value in found]
    return list(found)
