"""Facts: what the rows of a table must know of each other before any of them can be folded.

Facts are small, and they merge: `a + b == b + a`, `(a + b) + c == a + (b + c)`, `a + a == a`. So it
does not matter how records were cut into batches, in which order the batches were read, or that a
record was read twice. They come in two rounds. *Decoding* tells what a record says by itself: the
types of its columns, a truncate, where a snapshot's reads stand, the transactions that may have
been open at one. When that is known of the whole table, rows have their places, and the *survey*
tells what only places tell: the first read of each complete snapshot, the keys that moves join,
and which positions several changes share.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import reduce
from typing import Any, TypeVar

from strandline.cells.types import ColumnType
from strandline.changes.change import Fence
from strandline.changes.position import major_of
from strandline.changes.record import Coordinates
from strandline.changes.rekeyed import Identity
from strandline.connectors import Connector
from strandline.formats.notification import Snapshot

K = TypeVar("K")
V = TypeVar("V")

# Where something was said first: partition, offset, and which of the columns of that record.
Place = tuple[int, int, int]
# The types that a column has had, each with the place where it was said first.
Types = Mapping[str, Mapping[ColumnType, Place]]
# What may be half of a move that no header announces: op, key, and what tells it from others.
Half = tuple[str, str, tuple[str | int | None, ...]]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one table, from any number of its records.

    Of decoding: `declared`, `inferred` and `described` are the types of columns by what said so: a
    schema or contract, a value, an embedded schema. `scopes` are the physical tables that rows are
    of, `connectors` who sent them by where they were met first. `fences` are all deliveries of
    truncates, `reads` the places of whole snapshots with the earliest time at which a read of it
    was emitted (milliseconds), `open` the transactions that may have been open at one. `control`
    are the records without a row, `unknown` the ids of schemas that records name and nobody knows.

    Of the survey: `latest` is the last place at which rows were changed under each form of key;
    `halves` are deletes and creates by the place that the two halves of a move share; `first` is
    the fence before the first read of each complete snapshot and table; `shared` are the positions
    that several changes have, `rewound` the deliveries that came again behind a rewind of their
    partition; `repeated` is the last position at which something came twice; `unseen`: whether
    there may be keys with records and without a version, `joined`: whether a record may have named
    more than its key, `renamed`: whether one may be on record under names that it had before.
    """

    declared: Types = field(default_factory=dict)
    inferred: Types = field(default_factory=dict)
    described: Types = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()
    connectors: Mapping[Connector, Place] = field(default_factory=dict)
    fences: Mapping[Coordinates, Fence] = field(default_factory=dict)
    reads: Mapping[str, int] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    control: frozenset[Coordinates] = frozenset()
    unknown: frozenset[str] = frozenset()
    latest: Mapping[Identity, str] = field(default_factory=dict)
    halves: Mapping[str, frozenset[Half]] = field(default_factory=dict)
    first: Mapping[tuple[Snapshot, str], Fence] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    rewound: frozenset[Coordinates] = frozenset()
    repeated: str = ""
    unseen: bool = False
    joined: bool = False
    renamed: bool = False

    def __add__(self, other: "Facts") -> "Facts":
        """What is known from both."""
        return Facts(
            **{
                of.name: _MERGED[of.name](getattr(self, of.name), getattr(other, of.name))
                for of in fields(Facts)
            }
        )

    @property
    def connector(self) -> Connector | None:
        """The one that sent the first record of a row."""
        return min(self.connectors, key=self.connectors.__getitem__, default=None)


NONE = Facts()


def merged(facts: Iterable[Facts]) -> Facts:
    """All of them as one."""
    return reduce(Facts.__add__, facts, NONE)


def _first_places(one: Mapping[K, Place], other: Mapping[K, Place]) -> Mapping[K, Place]:
    return _joined(one, other, min)


def _types(one: Types, other: Types) -> Types:
    return _joined(one, other, _first_places)


def _joined(one: Mapping[K, V], other: Mapping[K, V], both: Callable[[V, V], V]) -> Mapping[K, V]:
    if not one or not other:
        return one or other
    result = dict(one)
    for name, value in other.items():
        result[name] = both(result[name], value) if name in result else value
    return result


def _same(one: V, other: V) -> V:
    """Of one record both know the same."""
    del other
    return one


def _earlier(one: Fence, other: Fence) -> Fence:
    return min(one, other, key=place_of)


def place_of(sweep: Fence) -> tuple[str, tuple[int, int, str]]:
    """Which of two reads of a snapshot is its first, by the fences before them."""
    return major_of(sweep.seq), sweep.at.order


def _united(one: frozenset[K], other: frozenset[K]) -> frozenset[K]:
    return one | other if one and other else one or other


_MERGED: Mapping[str, Callable[[Any, Any], Any]] = {
    "declared": _types,
    "inferred": _types,
    "described": _types,
    "scopes": _united,
    "connectors": _first_places,
    "fences": lambda one, other: _joined(one, other, _same),
    "reads": lambda one, other: _joined(one, other, min),
    "open": _united,
    "control": _united,
    "unknown": _united,
    "latest": lambda one, other: _joined(one, other, max),
    "halves": lambda one, other: _joined(one, other, _united),
    "first": lambda one, other: _joined(one, other, _earlier),
    "shared": _united,
    "rewound": _united,
    "repeated": max,
    "unseen": max,
    "joined": max,
    "renamed": max,
}
