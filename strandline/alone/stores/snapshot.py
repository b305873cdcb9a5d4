"""The rows that a table is compared with: a Delta table, or files that somebody has written.

Cells are texts, or values of whatever type a file has; `strandline.cells.casting` makes the
history's of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake.fs import DeltaStorageHandler
from pyarrow import csv, parquet
from pyarrow.fs import FileSelector, FileSystem, FileType, PyFileSystem

from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import opened, storage_options, whole
from strandline.cells.spelling import Number, spelled
from strandline.errors import BeyondAloneError, Terminal
from strandline.runs.reconciliation import Reconciliation, is_whole_path

_HIDDEN = ("_", ".")  # begin the names of files in a folder that are nobody's rows
_UNKNOWN = "nknown scheme"  # what delta-rs says of a store that it does not know


def rows(order: Reconciliation) -> pa.Table:
    """The snapshot's rows; a column that some of its files lack is NULL there.

    Raises `Terminal` where a file is none of its format, `BeyondAloneError` where delta-rs cannot
    find it: Spark may.
    """
    if order.format == "delta":
        copy = opened(order.snapshot)
        if copy is None:
            raise Terminal(f"the snapshot {order.snapshot} is no Delta table")
        return whole(copy)
    parts = [_read(order, files, path) for files, path in _found(order.snapshot)]
    return pa.concat_tables(parts, promote_options="permissive")


def _found(snapshot: str) -> list[tuple[FileSystem, str]]:
    """The snapshot's files: itself, or what a folder has in it at any depth."""
    if not is_whole_path(snapshot):
        raise BeyondAloneError(
            f"the snapshot {snapshot} is not named by the whole path or URI of one file or folder, "
            "which takes Spark"
        )
    folder, _, name = snapshot.rstrip("/").rpartition("/")
    try:
        with explained(snapshot):
            files = PyFileSystem(DeltaStorageHandler(folder or "/", storage_options()))
            inside = files.get_file_info(FileSelector(name, allow_not_found=True, recursive=True))
            (own,) = files.get_file_info([name])
    except Terminal as error:
        if _UNKNOWN not in str(error):
            raise
        raise BeyondAloneError(f"the snapshot {snapshot} is in a store of Spark's") from error
    found = [own] if own.type is FileType.File else inside
    paths = sorted(each.path for each in found if each.type is FileType.File)
    named = [path for path in paths if not _is_hidden(path.removeprefix(name))]
    if not named:
        raise BeyondAloneError(f"there is nothing at the snapshot {snapshot}")
    return [(files, path) for path in named]


def _is_hidden(path: str) -> bool:
    return any(part.startswith(_HIDDEN) for part in path.split("/"))


def _read(order: Reconciliation, files: FileSystem, path: str) -> pa.Table:
    with _explained(order, path):
        return _READERS[order.format](order, files, path)


@contextmanager
def _explained(order: Reconciliation, path: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, ValueError) as error:
        first_line = str(error).splitlines()[0]
        raise Terminal(
            f"the snapshot {order.snapshot} has a file that is no {order.format} ({path}): "
            f"{first_line}"
        ) from error


def _csv(order: Reconciliation, files: FileSystem, path: str) -> pa.Table:
    """All cells as texts; what is empty and not in quotes is NULL, and so is `order.null`."""
    with files.open_input_stream(path) as file:
        found = csv.read_csv(
            file,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                default_column_type=pa.string(),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    null = pa.scalar(None, pa.string())
    columns = [pc.if_else(pc.equal(column, order.null), null, column) for column in found.columns]
    return pa.table(columns, names=found.column_names)


def _parquet(order: Reconciliation, files: FileSystem, path: str) -> pa.Table:
    del order
    with files.open_input_file(path) as file:
        return parquet.read_table(file, coerce_int96_timestamp_unit="us")


def _json(order: Reconciliation, files: FileSystem, path: str) -> pa.Table:
    """A row for each line, all cells as the texts that they are written in."""
    del order
    with files.open_input_stream(path) as file:
        lines = str(file.read(), "utf-8-sig").split("\n")  # Unicode knows more line breaks
    found = [_row(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    names = dict.fromkeys(name for row in found for name in row)
    columns = {name: pa.array([row.get(name) for row in found], pa.string()) for name in names}
    return pa.table(columns)


def _row(number: int, line: str) -> Mapping[str, str | None]:
    row: Any = json.loads(line, parse_int=Number, parse_float=Number)
    if not isinstance(row, dict):
        raise ValueError(f"line {number} is no object")  # noqa: TRY004 - of one kind with bad JSON
    return {name: None if cell is None else spelled(cell) for name, cell in row.items()}


_READERS: Mapping[str, Callable[[Reconciliation, FileSystem, str], pa.Table]] = {
    "csv": _csv,
    "parquet": _parquet,
    "json": _json,
}
