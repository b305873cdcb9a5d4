"""Delta tables read without Spark, and small files beside them.

Queries go through delta-rs's engine: it reads deletion vectors, and no column that is not asked
for. What people say gets into the text of a query as a literal, whatever it holds.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import PyFileSystem

from strandline.alone.stores.faults import explained, is_denied
from strandline.runs import commit

STORAGE_VARIABLE = "STRANDLINE_STORAGE_OPTIONS"

Value = str | int | Sequence[str | int]
Stamp = tuple[str, int]  # a table's identity, which one made anew has not, and its version

# Every run reads the logs of its tables from their last checkpoint on. Delta-rs writes one after a
# hundred commits where nothing is said, Spark after ten.
CHECKPOINTS = {"delta.checkpointInterval": "10"}

# The same of tables of which nobody reads an old version: Delta keeps a month of a log where
# nothing is said, and where a log is a folder on a disk, all of it is listed at each opening.
SHORT_LOG = {**CHECKPOINTS, "delta.logRetentionDuration": "interval 7 days"}

# More names than these are no condition for a reader any more: it reads all there is.
MOST_NAMES = 2_000

_NAME = re.compile(r":([a-z_]+)")


def opened(uri: str, version: int | None = None) -> DeltaTable | None:
    """The table at a version or at its newest; None where there is no such table."""
    with explained(uri):
        try:
            return DeltaTable(uri, version=version, storage_options=storage_options())
        except TableNotFoundError as error:
            if is_denied(error):
                raise
            return None


def stamp(uri: str) -> Stamp | None:
    """What tells a table as it stands now from any other; None where there is no such table."""
    table = opened(uri)
    return None if table is None else (str(table.metadata().id), table.version())


def has_vectors(table: DeltaTable | None) -> bool:
    """Whether rows of the table may lie in its files and be deleted, which delta-rs only reads."""
    return table is not None and "deletionVectors" in (table.protocol().writer_features or ())


def rows(table: DeltaTable, sql: str, /, **values: Value) -> list[dict[str, Any]]:
    """The rows of a query, which knows the table as `stored` and each value by `:name`."""
    answer: list[dict[str, Any]] = selected(table, sql, **values).to_pylist()
    return answer


def selected(table: DeltaTable, sql: str, /, **values: Value) -> pa.Table:
    """The same as Arrow has them; without values the query is taken as it is."""
    bound = _NAME.sub(lambda found: literal(values[found[1]]), sql) if values else sql
    with explained(table.table_uri):
        found = pa.table(QueryBuilder().register("stored", table).execute(bound).read_all())
    return found.cast(pa.schema(map(_plain, found.schema)))


def _plain(field: pa.Field) -> pa.Field:
    """The field without the types that only queries give, which pyarrow can do little with."""
    of = field.type
    if pa.types.is_string_view(of):
        return field.with_type(pa.string())
    if pa.types.is_binary_view(of):
        return field.with_type(pa.binary())
    if pa.types.is_list(of):
        return field.with_type(pa.list_(_plain(of.value_field)))
    if pa.types.is_struct(of):
        return field.with_type(pa.struct([_plain(of.field(n)) for n in range(of.num_fields)]))
    return field


def whole(table: DeltaTable, where: str = "true") -> pa.Table:
    """The table's rows in its own schema, all or those that meet a condition of our own making."""
    sql = f"SELECT * FROM stored WHERE {where}"  # noqa: S608
    with explained(table.table_uri):
        found = QueryBuilder().register("stored", table).execute(sql)
        made = pa.table(found.read_all())
        return made.cast(pa.schema(table.schema().to_arrow()))


def literal(value: Value) -> str:
    """A value as SQL has it: no text has another escape there than the doubled quote."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value) if isinstance(value, int) else f"({', '.join(map(literal, value))})"


def log_file(uri: str, version: int) -> str | None:
    """One commit of a table's log as JSON lines; None where the log has it no more."""
    files = PyFileSystem(DeltaStorageHandler(uri, storage_options()))
    with explained(uri):
        try:
            with files.open_input_file(f"_delta_log/{version:020d}.json") as file:
                return str(file.read(), "utf-8")
        except FileNotFoundError:
            return None


def committed_at(uri: str, version: int) -> float | None:
    """When a version was committed, in seconds since 1970; None where the log has it no more."""
    text = log_file(uri, version)
    return None if text is None else commit.committed_at(text)


def read_text(uri: str) -> str:
    """The whole of a small file; `FileNotFoundError` where there is none."""
    folder, _, name = uri.rpartition("/")
    with explained(uri):
        try:
            files = PyFileSystem(DeltaStorageHandler(folder, storage_options()))
        except TableNotFoundError as error:
            raise FileNotFoundError(uri) from error
        with files.open_input_file(name) as file:
            return str(file.read(), "utf-8")


def write_text(uri: str, text: str) -> None:
    """Replaces a small file; its folder is made where it is missing."""
    write(uri, text.encode(), storage_options())


def write(uri: str, data: bytes, options: dict[str, str] | None) -> None:
    """Replaces a file, which is there as a whole or as it was; `options` are delta-rs's."""
    root, name = _anchor(uri)
    with explained(uri):
        # The raw handler: what is around it in deltalake 1.6 hands on a type that it refuses.
        handler: Any = DeltaStorageHandler(root, options)._handler  # noqa: SLF001
        stream = handler.open_output_stream(name)  # which its stub has without `close`
        stream.write(data)
        stream.close()


def _anchor(uri: str) -> tuple[str, str]:
    """The URI as a root that is there and a path below it: delta-rs makes no local root."""
    if "://" in uri:
        scheme, _, rest = uri.partition("://")
        store, _, path = rest.partition("/")
        return f"{scheme}://{store}/", path
    return "/", str(Path(uri).absolute()).lstrip("/")


def storage_options() -> dict[str, str] | None:
    """Options for an object store from the environment, as JSON; by default its usual variables."""
    text = os.environ.get(STORAGE_VARIABLE)
    return json.loads(text) if text else None
