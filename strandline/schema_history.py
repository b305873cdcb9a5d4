"""The schema history of a source: what its DDL events say of each table's columns.

Two formats (the specification of the Tencent subscription has both): *source style*, the message of
the schema-change topic, `{source, databaseName, ddl, tableChanges}`, and *position style*, the
older schema-history document, `{source: {server}, position, databaseName, ddl, tableChanges}`.
RENAME comes as an ALTER of the new id; DROP and database events change no table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from strandline.connectors import Connector
from strandline.record import Coordinates
from strandline.types import ColumnType, from_connect

# What the connectors say of a DDL event's place in the log.
_PLACES = ("file", "pos", "commit_lsn", "commit_scn", "scn", "lsn")


@dataclass(frozen=True, slots=True)
class TableChange:
    """A table as a DDL statement left it: `table` is `db.schema.table` without quotes.

    `columns` are (name, native description) in their order, as Debezium's relational model has
    them (`typeName`, `length`, `scale`, `charsetName`, …).
    """

    kind: str
    table: str
    key: tuple[str, ...]
    columns: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One DDL event. `position` is what it says of its place in the log, as text."""

    at: Coordinates
    database: str
    ddl: str
    position: str
    snapshot: bool
    changes: tuple[TableChange, ...]


def schema_change(at: Coordinates, payload: Mapping[str, Any]) -> SchemaChange | None:
    """The DDL event in a control record; None where it is something else."""
    if "tableChanges" not in payload and "ddl" not in payload:
        return None
    position = payload.get("position")
    place = position if isinstance(position, dict) else payload.get("source")
    place = place if isinstance(place, dict) else {}
    changes = payload.get("tableChanges")
    return SchemaChange(
        at=at,
        database=str(payload.get("databaseName") or ""),
        ddl=str(payload.get("ddl") or ""),
        position=":".join(str(place[name]) for name in _PLACES if place.get(name) is not None),
        snapshot=place.get("snapshot") not in (None, False, "false"),  # may be anything
        changes=tuple(
            _table_change(change)
            for change in (changes if isinstance(changes, list) else ())
            if isinstance(change, dict)
        ),
    )


def of_topic(
    tables: Mapping[str, Mapping[str, ColumnType]], topic: str, scope: str | None = None
) -> Mapping[str, ColumnType]:
    """The column types of the table that a topic carries; by `scope` where that is known."""
    if scope is not None and scope in tables:
        return tables[scope]
    for table, columns in tables.items():
        without_database = table.split(".", maxsplit=1)[-1]
        if topic.endswith((f".{table}", f".{without_database}")):
            return columns
    return {}


def _table_change(change: Mapping[str, Any]) -> TableChange:
    table = change.get("table")
    described = table if isinstance(table, dict) else {}
    columns = [column for column in described.get("columns") or () if isinstance(column, dict)]
    return TableChange(
        kind=str(change.get("type")),
        table=".".join(part.strip('"`') for part in str(change.get("id")).split(".")),
        key=tuple(str(name) for name in described.get("primaryKeyColumnNames") or ()),
        columns=tuple((str(column.get("name")), column) for column in columns),
    )


def column_types(
    changes: Iterable[SchemaChange], connector: Connector
) -> dict[str, dict[str, ColumnType]]:
    """Per table the type of every column it ever had, by its latest definition.

    A column whose native type the connector does not know is left out: its records then keep
    JSON's own type.
    """
    tables: dict[str, dict[str, ColumnType]] = {}
    for change in sorted(
        changes, key=lambda change: (change.at.topic, change.at.partition, change.at.offset)
    ):
        for table in change.changes:
            for name, native in table.columns:
                schema = connector.connect_schema(native)
                if schema is not None:
                    tables.setdefault(table.table, {})[name] = from_connect(schema)
    return tables
