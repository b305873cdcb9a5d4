"""Delta tables read without Spark, and what goes wrong with them in words.

Queries go through delta-rs's engine: it reads deletion vectors, and no column that is not asked
for. What people say gets into the text of a query as a literal, whatever it holds.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import PyFileSystem

from strandline.errors import BeyondAloneError, Terminal, Transient
from strandline.runs import commit

STORAGE_VARIABLE = "STRANDLINE_STORAGE_OPTIONS"

Value = str | int | Sequence[str | int]
Stamp = tuple[str, int]  # a table's identity, which one made anew has not, and its version

# Every run reads the logs of its tables from their last checkpoint on. Delta-rs writes one after a
# hundred commits where nothing is said, Spark after ten.
CHECKPOINTS = {"delta.checkpointInterval": "10"}

# More names than these are no condition for a reader any more: it reads all there is.
MOST_NAMES = 2_000

_NAME = re.compile(r":([a-z_]+)")

# What a file system or an object store says where the same call cannot succeed later.
_DENIED = (
    "Could not create local directory",
    "Not a directory",
    "Permission denied",
    "Read-only file system",
    "AccessDenied",
    "Forbidden",
    "Unauthorized",
    "Unknown scheme",
)

# What the system says where there is no room: on the disk, in a quota, in what a process may write.
_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")

# What delta-rs puts between the causes of an error, for a terminal: a coloured arrow.
_ARROW = re.compile(r"\s*\x1b\[\d+m\S\x1b\[0m\s*")

# The stack that may follow: it says nothing without the library's own symbols.
_TRACE = re.compile(r"\n\s*0: .*", re.DOTALL)

# What is said of a data file that the log names, and that is not there or none.
_LOST = re.compile(r"Failed to fetch metadata for file (\S+): (?:[\w ]+ error: )*(.*)")

# What delta-rs says of a table with features that came after it.
_UNKNOWN = "Unsupported table features"


def opened(uri: str, version: int | None = None) -> DeltaTable | None:
    """The table at a version or at its newest; None where there is no such table."""
    with explained(uri):
        try:
            return DeltaTable(uri, version=version, storage_options=storage_options())
        except TableNotFoundError as error:
            if _is_denied(error):
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


@contextmanager
def explained(uri: str) -> Iterator[None]:
    """delta-rs's errors as ours, with the place and what to do."""
    try:
        yield
    except Exception as error:
        # Queries, which delta-rs leaves to another library, fail with an exception of no class.
        if not isinstance(error, DeltaError | OSError) and type(error) is not Exception:
            raise
        said = _TRACE.sub("", _ARROW.sub(": ", str(error)))
        first_line = said.replace("\n", " ").strip()
        if _is_denied(error):
            raise Terminal(
                f"the lake cannot be used at {uri}: {first_line}; make it a folder or store that "
                "this process may write, or set another root (STRANDLINE_LAKE, or 'lake' in the "
                "source's file)"
            ) from error
        full = _FULL.search(first_line)
        if full is not None:
            raise Transient(
                f"there is no room at {uri}: {full[0]}; make room there: the next attempt does "
                "the rest"
            ) from error
        lost = _LOST.search(first_line)
        if lost is not None:
            raise Transient(
                f"Delta table {uri}: its file {lost[1]} cannot be read ({lost[2]}): restore it, "
                "and the next attempt goes on"
            ) from error
        if _UNKNOWN in first_line:
            raise BeyondAloneError(
                f"Delta table {uri}: {first_line.rpartition(': ')[2]} is not known to delta-rs, "
                "which reads it here (a table whose column was widened has TypeWidening): read it "
                "with Spark"
            ) from error
        raise Transient(f"Delta table {uri}: {first_line}") from error


def _is_denied(error: Exception) -> bool:
    return any(sign in str(error) for sign in _DENIED)


def storage_options() -> dict[str, str] | None:
    """Options for an object store from the environment, as JSON; by default its usual variables."""
    text = os.environ.get(STORAGE_VARIABLE)
    return json.loads(text) if text else None
