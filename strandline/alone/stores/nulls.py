"""How many current rows of a history are NULL in a column.

Delta's statistics count the NULLs of each file, those of ended rows among them. Where they are few
enough nothing is read, else the one column is, of the files that have the last rows of keys.
"""

from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable

from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import opened, rows
from strandline.changes.columns import IS_CURRENT, IS_HEAD
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.errors import BeyondAloneError, Terminal
from strandline.runs.gate import Nulls

_MAPPED = "delta.columnMapping.physicalName"  # of a column of any letters, as Spark makes it
_OWN = frozenset(name for name, _ in (*COLUMNS, *INTERNAL_COLUMNS))


def counted(uri: str, version: int, allowed: Mapping[str, float]) -> Nulls:
    """The NULLs of columns in the current rows of a version of a history.

    `allowed` has so many of each that are no matter: where there are no more, it may be said how
    many there are at most. A column that the history has not is left out.
    """
    try:
        stored = opened(uri, version)
        if stored is None:
            raise Terminal(f"{uri} is gone: restore it, and clear this task")
        there = tuple(field.name for field in stored.schema().fields if field.name not in _OWN)
        named = {name: most for name, most in allowed.items() if name in there}
        return Nulls({name: _count(stored, name, most) for name, most in named.items()}, there)
    except BeyondAloneError as error:
        return Nulls(unread=str(error))


def _count(stored: DeltaTable, column: str, allowed: float) -> int:
    most = _at_most(stored, column)
    return most if most is not None and most <= allowed else _looked_at(stored, column)


def _at_most(stored: DeltaTable, column: str) -> int | None:
    """By the statistics of the files with heads; None where one of them has none."""
    with explained(stored.table_uri):
        files = pa.table(stored.get_add_actions(flatten=True))
    (field,) = (each for each in stored.schema().fields if each.name == column)
    name = f"null_count.{field.metadata.get(_MAPPED, column)}"
    head = f"partition.{IS_HEAD}"
    if not {name, head} <= {*files.column_names}:
        return None
    counts = [
        count
        for count, is_head in zip(files[name].to_pylist(), files[head].to_pylist(), strict=True)
        if is_head
    ]
    return None if None in counts else sum(counts)


def _looked_at(stored: DeltaTable, column: str) -> int:
    quoted = '"' + column.replace('"', '""') + '"'
    sql = f"SELECT count(*) AS n FROM stored WHERE {IS_HEAD} AND {IS_CURRENT} AND {quoted} IS NULL"  # noqa: S608 - of the table's own columns
    return int(rows(stored, sql)[0]["n"])
