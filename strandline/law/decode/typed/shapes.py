"""What the typed decoder gives: columns of changes, and the shapes that their rows have."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import lt

from strandline.cells.types import ColumnType
from strandline.connectors import Connector


class Unsent:
    """Stands in a cell for a value that the connector did not send."""

    def __repr__(self) -> str:
        return "UNSENT"

    def __reduce__(self) -> str:
        return "UNSENT"  # there is one of it in each process


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

    def extend(self, other: "Columns") -> None:
        """Adds the rows of others behind these."""
        start = len(self.record)
        for name in LISTS:
            getattr(self, name).extend(getattr(other, name))
        self.partial.update(start + n for n in other.partial)
        self.moved.update((start + n, of) for n, of in other.moved.items())
        self.whole.update((start + n, of) for n, of in other.whole.items())

    def in_order(self) -> "Columns":
        """The same rows as the input has them."""
        if all(map(lt, self.record, self.record[1:])):
            return self
        order = sorted(range(len(self.record)), key=self.record.__getitem__)
        at = {n: place for place, n in enumerate(order)}
        return Columns(
            **{name: [getattr(self, name)[n] for n in order] for name in LISTS},
            partial={at[n] for n in self.partial},
            moved={at[n]: of for n, of in self.moved.items()},
            whole={at[n]: of for n, of in self.whole.items()},
        )


LISTS = tuple(of.name for of in fields(Columns) if of.default_factory is list)
