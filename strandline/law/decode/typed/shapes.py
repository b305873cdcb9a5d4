"""What the typed decoder gives: columns of changes, and the shapes that their rows have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from strandline.cells.types import ColumnType
from strandline.connectors import Connector


class Unsent:
    """Stands in a cell for a value that the connector did not send."""

    def __repr__(self) -> str:
        return "UNSENT"


UNSENT = Unsent()


@dataclass(frozen=True, slots=True)
class Shape:
    """What rows of one kind say of their columns.

    `names` are the columns of their cells, `declared` and `inferred` the types by what said so, as
    the general decoder has them. `described`: an embedded schema did. `key` are the key's columns.
    """

    names: tuple[str, ...]
    declared: Mapping[str, ColumnType]
    inferred: Mapping[str, ColumnType]
    described: bool
    connector: Connector
    key: tuple[str, ...]


@dataclass(slots=True)
class Columns:
    """Accepted changes, an entry of each list for each of them, in order of the input.

    `record` is the place of the record in the input. `major` and `own` are those of the position
    (without an epoch), `best` is microseconds since 1970. `sent` are the cells of the after image,
    empty for a delete; `shape` says which of the decoder's shapes the row has. `partial` are the
    rows with cells that were not sent; `moved` the halves of key moves, with the other key and what
    both halves have in common; `whole` the reads of whole snapshots, with the milliseconds
    at which they were emitted and the connector's name.
    """

    record: list[int] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    major: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    position: list[str] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    quality: list[str] = field(default_factory=list)
    tx_id: list[str | None] = field(default_factory=list)
    scope: list[str | None] = field(default_factory=list)
    sent: list[tuple[object, ...]] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
    partial: set[int] = field(default_factory=set)
    moved: dict[int, tuple[str, str]] = field(default_factory=dict)
    whole: dict[int, tuple[int | None, str | None]] = field(default_factory=dict)
