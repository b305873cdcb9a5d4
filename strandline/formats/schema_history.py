"""The schema history of a source: what its DDL events say of each table's columns.

Two formats (the specification of the Tencent subscription has both): *source style*, the message of
the schema-change topic, `{source, databaseName, ddl, tableChanges}`, and *position style*, the
older schema-history document, `{source: {server}, position, databaseName, ddl, tableChanges}`.
RENAME comes as an ALTER of the new id; DROP and database events change no table.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from strandline import connectors
from strandline.cells import naming
from strandline.cells.modes import NOT_SAID, Modes, defined
from strandline.cells.types import ColumnType
from strandline.changes.record import Coordinates
from strandline.connectors import Connector
from strandline.errors import UndecodableError
from strandline.formats.registry.schemas import NONE, Schemas

Types = Mapping[str, ColumnType]
Epochs = Callable[[int], int]

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
    """One DDL event. `position` is what it says of its place in the log, as text, `place` whole.

    `stored` is Kafka's time of it, in milliseconds; `source` is what the source calls itself, which
    topics begin with, `connector` who says it, where that is known.
    """

    at: Coordinates
    stored: int
    place: Mapping[str, Any]
    source: str
    database: str
    ddl: str
    position: str
    snapshot: bool
    changes: tuple[TableChange, ...]
    connector: Connector | None = None


def schema_change(
    at: Coordinates, payload: Mapping[str, Any], stored: int = 0
) -> SchemaChange | None:
    """The DDL event in a control record; None where it is something else."""
    if "tableChanges" not in payload and "ddl" not in payload:
        return None
    position = payload.get("position")
    place = position if isinstance(position, dict) else payload.get("source")
    place = place if isinstance(place, dict) else {}
    changes = payload.get("tableChanges")
    return SchemaChange(
        at=at,
        stored=stored,
        place=place,
        source=_name(payload.get("source")),
        database=str(payload.get("databaseName") or ""),
        ddl=str(payload.get("ddl") or ""),
        position=":".join(str(place[name]) for name in _PLACES if place.get(name) is not None),
        snapshot=place.get("snapshot") not in (None, False, "false"),  # may be anything
        changes=tuple(_table_change(each) for each in _list(changes) if isinstance(each, dict)),
        connector=_connector(payload),
    )


def _connector(payload: Mapping[str, Any]) -> Connector | None:
    """Who sent a DDL event; position style names it in `position`."""
    places = (payload.get(name) for name in ("position", "source"))
    found = (connectors.of(place) for place in places if isinstance(place, dict))
    return next((each for each in found if each is not None), None)


def _name(source: object) -> str:
    """`name`, in position style `server`."""
    named = source if isinstance(source, dict) else {}
    return str(named.get("name") or named.get("server") or "")


def _list(value: object) -> Sequence[Any]:
    """What should be a list; anything else names nothing."""
    return value if isinstance(value, list) else ()


def _table_change(change: Mapping[str, Any]) -> TableChange:
    table = change.get("table")
    described = table if isinstance(table, dict) else {}
    columns = [each for each in _list(described.get("columns")) if isinstance(each, dict)]
    return TableChange(
        kind=str(change.get("type")),
        table=".".join(part.strip('"`') for part in str(change.get("id")).split(".")),
        key=tuple(str(name) for name in _list(described.get("primaryKeyColumnNames"))),
        columns=tuple((str(column.get("name")), column) for column in columns),
    )


@dataclass(frozen=True, slots=True)
class Definition:
    """A table's columns over a stretch of the log, which begins behind the place `since`.

    `columns` are those that the table has there. `others` it had before or gets later, by their
    nearest definition: for records that name them all the same.
    """

    since: str
    columns: Types
    others: Types

    def renamed(self, names: Mapping[str, str]) -> "Definition":
        """The same, by the names that a history has for the columns."""
        return replace(
            self,
            columns=naming.renamed(self.columns, names),
            others=naming.renamed(self.others, names),
        )

    def types(self, named: Collection[str]) -> dict[str, ColumnType]:
        """The types of the table's columns, and of others that a record names."""
        return {**self.columns, **{name: of for name, of in self.others.items() if name in named}}


def place(major: str, *, epoch: int, read: bool) -> str:
    """A place in the log, as text that sorts; `read`: of a snapshot, which saw all up to there.

    A row change at the position of a DDL event came before it: SQL Server and Oracle report the
    event where the last commit was.
    """
    return f"{epoch:04x}{major}{int(read)}"


def in_force(definitions: Sequence[Definition], at: str | None) -> Definition:
    """The latest definition before a place, and before the first the first; without one the last.

    So DDL that was not recorded from the table's beginning reads the rows before it, too.
    """
    if at is None:
        return definitions[-1]
    return next((each for each in reversed(definitions) if each.since < at), definitions[0])


@dataclass(frozen=True, slots=True)
class SchemaHistory:
    """The definitions of a source's tables, by `db.schema.table`, in the order of the log.

    `prefixes` are the words before a table's name that its topic may have: what the source calls
    itself, and the topics of the DDL events. `sources` are those of a capture of several, by what
    they call themselves: tables of two may have one name. `schemas` are those that no DDL has told:
    records name them by an id.
    """

    tables: Mapping[str, Sequence[Definition]] = field(default_factory=dict)
    prefixes: frozenset[str] = frozenset()
    sources: Mapping[str, "SchemaHistory"] = field(default_factory=dict)
    schemas: Schemas = NONE

    def __bool__(self) -> bool:
        return bool(self.tables)

    def of(self, topic: str, scope: str | None = None) -> Sequence[Definition]:
        """The definitions of the table that a topic's record is of; none where it is not known.

        A `scope` that names the database decides alone: another database's table of that name is
        another table. Without one, as of tombstones, the topic is asked.
        """
        own = self._of_source(topic)
        if own is not None:
            return own.of(topic, scope)
        name = self._of_topic(topic) if scope is None else self._of_scope(scope, topic)
        return () if name is None else self.tables[name]

    def of_tombstones(self, topic: str, scopes: Collection[str]) -> Sequence[Definition]:
        """The same of tombstones, which name no table: that of the topic's other records.

        `scopes` are the tables that those name. Where they are several, the topic is asked.
        """
        own = self._of_source(topic)
        if own is not None:
            return own.of_tombstones(topic, scopes)
        named = {self._of_scope(scope, topic) for scope in scopes} - {None}
        only = named.pop() if len(named) == 1 else None
        return self.of(topic) if only is None else self.tables[only]

    def _of_source(self, topic: str) -> "SchemaHistory | None":
        """That of the source whose name the topic begins with, where it is of several."""
        found = [name for name in self.sources if topic.startswith(f"{name}.")]
        return self.sources[max(found, key=len)] if found else None

    def _of_scope(self, scope: str, topic: str) -> str | None:
        if scope in self.tables:
            return scope
        alike = [name for name in self.tables if _without_database(name, scope)]
        by_topic = self._of_topic(topic)
        if by_topic in alike:
            return by_topic
        # A topic that is called like the table has just said that it is none of these.
        return alike[0] if len(alike) == 1 and not _ends(topic, scope) else None

    def _of_topic(self, topic: str) -> str | None:
        """`db.schema.table` behind any words; without the database behind the prefix only.

        What stood before it otherwise would be another database. The longest name counts: a
        table's own may have dots.
        """
        whole = [name for name in self.tables if _ends(topic, name)]
        if whole:
            return max(whole, key=len)
        bare = {topic, *(topic.removeprefix(f"{prefix}.") for prefix in self.prefixes)}
        alike = [n for n in self.tables if n.partition(".")[2] in bare]
        return alike[0] if len(alike) == 1 else None


def _ends(topic: str, name: str) -> bool:
    return topic == name or topic.endswith(f".{name}")


def _without_database(name: str, scope: str) -> bool:
    """Whether a scope that names no database may be that table."""
    return name.partition(".")[2] == scope


def history(
    changes: Iterable[SchemaChange],
    connector: Connector | None,
    epoch: Epochs,
    modes: Modes = NOT_SAID,
) -> SchemaHistory:
    """What the events say of each table. `connector` None: each says who sent it, of what source.

    A column whose native type the connector does not know is left out: its records then keep
    JSON's own type. An event of which nobody knows who sent it says nothing. `epoch` is the lineage
    of the log that Kafka's time of an event belongs to, `modes` is how the connector was set to
    write values.
    """
    changes = list(changes)
    found: dict[str, list[_Stated]] = {}
    prefixes: set[str] = set()
    for change in sorted(changes, key=lambda c: (c.at.topic, c.at.partition, c.at.offset)):
        prefixes |= {change.at.topic, change.source}
        sender = connector or change.connector
        if sender is None:
            continue
        since = _since(change, sender, epoch)
        for table in change.changes:
            if table.columns:
                stated = _Stated(since, _column_types(table, sender, modes))
                found.setdefault(sender.defined(table.table, change.place), []).append(stated)
    tables = {name: _definitions(stated) for name, stated in found.items()}
    whole = SchemaHistory(tables, frozenset(prefixes - {""}))
    names = {change.source for change in changes} - {""}
    if connector is not None or len(names) < 2:
        return whole
    own = {name: [change for change in changes if change.source == name] for name in names}
    return replace(
        whole, sources={name: history(told, None, epoch, modes) for name, told in own.items()}
    )


@dataclass(frozen=True, slots=True)
class _Stated:
    """What one DDL event says of a table: a column's type is None where it is not known.

    `since` is the event's place in the log, None where that is not known.
    """

    since: str | None
    columns: Mapping[str, ColumnType | None]


def _column_types(
    table: TableChange, connector: Connector, modes: Modes
) -> dict[str, ColumnType | None]:
    schemas = ((name, connector.connect_schema(native)) for name, native in table.columns)
    return {
        name: None if of is None else defined(of, modes, connector.dialect) for name, of in schemas
    }


def _since(change: SchemaChange, connector: Connector, epoch: Epochs) -> str | None:
    try:
        major = connector.position(change.place).major
    except UndecodableError:
        return None
    return place(major, epoch=epoch(change.stored), read=False)


def _definitions(stated: Sequence[_Stated]) -> tuple[Definition, ...]:
    """In the order of the log; where the place of one is not known, the latest of each column.

    DDL may come in several topics, of which none knows what the others have.
    """
    if any(each.since is None for each in stated):
        merged = {name: of for each in stated for name, of in each.columns.items()}
        return (Definition("", _typed(merged), {}),)
    by_place = {str(each.since): each.columns for each in stated}  # of one place the last
    ordered = sorted(by_place.items())
    found: list[Definition] = []
    for number, (since, columns) in enumerate(ordered):
        before = [earlier for _, earlier in reversed(ordered[:number])]
        nearest = [*before, *(later for _, later in ordered[number + 1 :])]
        others = {n: of for each in reversed(nearest) for n, of in _typed(each).items()}
        others = {name: of for name, of in others.items() if name not in columns}
        same = found and (found[-1].columns, found[-1].others) == (_typed(columns), others)
        if not same:
            found.append(Definition(since, _typed(columns), others))
    return tuple(found)


def _typed(columns: Mapping[str, ColumnType | None]) -> dict[str, ColumnType]:
    return {name: of for name, of in columns.items() if of is not None}
