"""The rows of a database, by an Airflow connection of any type that has a SQL hook.

They are copied into the lake, since Spark's drivers and Airflow's are not the same, and the copy
can be looked at. All cells are texts there, as `reconcile` reads them.
"""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

import pyarrow as pa
from airflow.providers.common.sql.hooks.sql import DbApiHook
from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException
from deltalake import write_deltalake

from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import storage_options
from strandline.errors import Terminal

_ROWS = 100_000  # fetched at a time, and written


def copied(connection: str, query: str, uri: str) -> datetime:
    """Replaces the Delta table at the URI by the rows of a query; when the database was asked.

    Raises `Terminal` where the connection is missing or no database's, where the query fails, or
    where its columns cannot be told apart.
    """
    hook = _hook(connection)
    asked = datetime.now(UTC)
    with (
        _explained(connection),
        closing(hook.get_conn()) as database,
        closing(database.cursor()) as cursor,
    ):
        cursor.execute(query)
        names = [str(column[0] or "") for column in cursor.description or ()]
        _check_names(connection, names)
        schema = pa.schema([(name, pa.string()) for name in names])
        _write(uri, schema.empty_table(), "overwrite")
        # In this thread: the objects of some drivers are of the thread that made them.
        while rows := cursor.fetchmany(_ROWS):
            columns = [map(_text, column) for column in zip(*rows, strict=True)]
            arrays = [pa.array(column, pa.string()) for column in columns]
            _write(uri, pa.Table.from_arrays(arrays, schema=schema), "append")
    return asked


def check(connection: str) -> None:
    """`Terminal` where the connection is missing or no database's; nobody is asked anything."""
    _hook(connection)


def _check_names(connection: str, names: list[str]) -> None:
    if not names:
        raise Terminal(f"the query for connection '{connection}' selects nothing")
    spelt = Counter(name.lower() for name in names)  # Spark does not tell capitals either
    unclear = next((name for name in names if not name or spelt[name.lower()] > 1), None)
    if unclear is not None:
        what = f"'{unclear}' more than once, capitals aside" if unclear else "what has no name"
        raise Terminal(
            f"the query for connection '{connection}' selects {what}: give each column a name of "
            "its own (AS)"
        )


def _hook(connection: str) -> DbApiHook:
    try:
        hook = BaseHook.get_connection(connection).get_hook()
    except AirflowNotFoundException as error:
        raise Terminal(
            f"there is no Airflow connection '{connection}': add it (Admin, Connections), or set "
            f"AIRFLOW_CONN_{connection.upper()}"
        ) from error
    except AirflowException as error:
        raise Terminal(
            f"connection '{connection}': {error}; install the provider of its type where tasks run"
        ) from error
    if not isinstance(hook, DbApiHook):
        raise Terminal(
            f"connection '{connection}' is no database's: name that of the table's source"
        )
    return hook


@contextmanager
def _explained(connection: str) -> Iterator[None]:
    """What a driver raises (PEP 249: its classes have a base of that name) as ours."""
    try:
        yield
    except Exception as error:
        if "Error" not in (of.__name__ for of in type(error).__mro__):
            raise
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        raise Terminal(
            f"the database of connection '{connection}' says: {first_line}; mend the query, or "
            "trigger this again once the database answers"
        ) from error


def _write(uri: str, rows: pa.Table, mode: Literal["append", "overwrite"]) -> None:
    with explained(uri):
        write_deltalake(
            uri,
            rows,
            mode=mode,
            schema_mode="overwrite" if mode == "overwrite" else None,
            storage_options=storage_options(),
        )


def _text(value: object) -> str | None:
    """A cell as histories can be compared with: times of day in microseconds, bytes in base64."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.isoformat(sep=" ")
        case time():
            midnight = timedelta(
                hours=value.hour,
                minutes=value.minute,
                seconds=value.second,
                microseconds=value.microsecond,
            )
            return str(midnight // timedelta(microseconds=1))
        case timedelta():
            return str(value // timedelta(microseconds=1))
        case dict() | list():
            return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        case _:
            return str(value)
