"""What a database is made of, and what its log says happened: tables, rows, transactions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Key = tuple[object, ...]
Row = Mapping[str, object]


@dataclass(frozen=True)
class Column:
    """`kind` is Connect's type. `large`: kept outside the row (TOAST, LOB)."""

    name: str
    kind: str = "string"
    nullable: bool = True
    large: bool = False


@dataclass(frozen=True)
class Table:
    """`tagged`: every row has a value of its own in `tag`, for life; two rows are never equal."""

    name: str
    key: tuple[Column, ...]
    columns: tuple[Column, ...]
    domain: tuple[Key, ...]

    @property
    def tagged(self) -> bool:
        return any(column.name == "tag" for column in self.columns)

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return (*self.key, *self.columns)

    def key_of(self, row: Row) -> Key:
        return tuple(row[column.name] for column in self.key)

    def key_cells(self, key: Key) -> dict[str, object]:
        return {column.name: part for column, part in zip(self.key, key, strict=True)}


_ID = (Column("id", "int32", nullable=False),)
_NAME, _QTY = Column("name"), Column("qty", "int32")
_STATE = Column("state", nullable=False)
_NOTE = Column("note", large=True)
_IDS = tuple((number,) for number in range(1, 6))

TABLES = (
    Table("item", _ID, (_NAME, _QTY, _STATE, _NOTE), _IDS),
    Table("seat", _ID, (Column("tag", nullable=False), _NAME, _NOTE), _IDS),
    Table(
        "line",
        (Column("order_id", "int32", nullable=False), Column("line_no", "int32", nullable=False)),
        (_NAME, _QTY),
        ((1, 1), (1, 2), (2, 1), (2, 2)),
    ),
)


@dataclass(frozen=True)
class RowChange:
    """One row in the log: before None inserts, after None deletes. `touched`: columns assigned."""

    table: Table
    before: Row | None
    after: Row | None
    touched: frozenset[str] = frozenset()

    @property
    def old_key(self) -> Key | None:
        return None if self.before is None else self.table.key_of(self.before)

    @property
    def new_key(self) -> Key | None:
        return None if self.after is None else self.table.key_of(self.after)

    @property
    def moves(self) -> bool:
        return None not in {self.old_key, self.new_key} and self.old_key != self.new_key


@dataclass(frozen=True)
class Statement:
    """Rows in the order in which the database changed them, or the tables that it truncated.

    `at` is its start in microseconds since the epoch.
    """

    at: int
    changes: tuple[RowChange, ...] = ()
    truncated: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Transaction:
    """`seen` False: no connector was there to see it. `joins`: open at the same time as the one
    before it, or while the snapshot before it was taken. Times in microseconds.
    """

    statements: tuple[Statement, ...]
    began: int
    committed: int
    seen: bool = True
    joins: bool = False


Outcome = Literal["completed", "aborted", "cut", "silent"]


@dataclass(frozen=True)
class Scan:
    """What a snapshot read of one table, and when it began to (microseconds)."""

    table: Table
    at: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Snapshot:
    """`outcome`: whether it was completed, and whether anybody said so ("silent": nobody)."""

    scans: tuple[Scan, ...]
    outcome: Outcome
    tables: tuple[Table, ...] = field(default=())


Step = Transaction | Snapshot
