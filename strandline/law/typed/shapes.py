"""What the typed decoder gives: columns of changes, and the shapes that their rows have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from strandline.cells.types import ColumnType
from strandline.connectors import Connector


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

    `index` is the place of the record in the input. `major` and `own` are those of the position
    (without an epoch), `best` and `source_ts` microseconds since 1970, `emitted` milliseconds.
    `whole`: a read of a whole snapshot. `cells` are those of the after image, empty for a delete;
    `shape` says which of the decoder's shapes the row has.
    """

    index: list[int] = field(default_factory=list)
    op: list[str] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    major: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    position: list[str] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    quality: list[str] = field(default_factory=list)
    source_ts: list[int | None] = field(default_factory=list)
    tx_id: list[str | None] = field(default_factory=list)
    scope: list[str | None] = field(default_factory=list)
    emitted: list[int | None] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    connector_name: list[str | None] = field(default_factory=list)
    cells: list[tuple[object, ...]] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)
