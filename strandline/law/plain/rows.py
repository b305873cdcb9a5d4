"""Rows: the changes of a table that the typed decoder has read, as columns."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from strandline.cells import documents, widening
from strandline.cells.types import ANY, ColumnType, Dialect, Kind
from strandline.changes.position import FIRST_EPOCH
from strandline.law.decode.typed import UNSENT, Columns, Shape
from strandline.law.decode.typed.shapes import LISTS
from strandline.law.landed import Landed

_FLOATS = frozenset({Kind.FLOAT, Kind.DOUBLE})

Cells = tuple[object, ...]


@dataclass(slots=True)
class Rows(Columns):
    """What was read of a table, run after run, with where it lies in Kafka.

    `record` are numbers of landed records here. `cells` are what was sent in the order and types of
    the table's columns. `tracked` are the places of the columns that make versions, None where all
    do; `strange` those of documents and fractions, which may be alike without being equal.
    `reads_last`: whether a snapshot's read saw all at its position.
    `dialect`: what its database's values are like.
    """

    topic_id: list[str] = field(default_factory=list)
    partition: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    cells: list[Cells] = field(default_factory=list)
    tracked: tuple[int, ...] | None = None
    strange: frozenset[int] = frozenset()
    reads_last: bool = False
    dialect: Dialect = ANY

    def add(self, read: Columns, landed: Landed, numbers: range) -> range:
        """Takes up what was read of landed records; the numbers of the new rows."""
        start = len(self.record)
        self.extend(read)
        records = [numbers[place] for place in read.record]
        self.record[start:] = records
        for name in _PLACE:
            own = getattr(landed, name)
            getattr(self, name).extend([own[n] for n in records])
        return range(start, len(self.record))

    def stand_in(  # noqa: PLR0913 - a row is its columns
        self,
        *,
        position: str,
        op: str,
        tx_id: str | None,
        best: int,
        partition: int,
        offset: int,
        cells: Sequence[object],
    ) -> int:
        """Adds a row of which only this is known, before any that is read; its number."""
        number = len(self.record)
        said = {
            "position": position, "op": op, "tx_id": tx_id, "best": best,
            "partition": partition, "offset": offset, "cells": tuple(cells),
        }  # fmt: skip
        for name in (*LISTS, *_PLACE, "cells"):
            getattr(self, name).append(said.get(name, _UNKNOWN.get(name)))
        return number

    def only(self, numbers: Sequence[int]) -> "Rows":
        """These rows alone."""
        kept = Rows(tracked=self.tracked, strange=self.strange)
        kept.reads_last, kept.dialect = self.reads_last, self.dialect
        for name in (*LISTS, *_PLACE, "cells"):
            own = getattr(self, name)
            getattr(kept, name).extend([own[n] for n in numbers])
        kept.partial = {place for place, n in enumerate(numbers) if n in self.partial}
        kept.moved = {place: self.moved[n] for place, n in enumerate(numbers) if n in self.moved}
        kept.whole = {place: self.whole[n] for place, n in enumerate(numbers) if n in self.whole}
        return kept

    def align(
        self, columns: Mapping[str, ColumnType], shapes: Sequence[Shape], tracked: Sequence[str]
    ) -> None:
        """Puts the cells of rows that came since into the table's columns and types.

        Where these have changed, `cells` is to be emptied first.
        """
        names = list(columns)
        whole = len(tracked) == len(names)
        self.tracked = None if whole else tuple(names.index(name) for name in tracked)
        self.strange = frozenset(
            n for n, of in enumerate(columns.values()) if of.is_json or of.kind in _FLOATS
        )
        plans = [_plan(shape, columns) for shape in shapes]
        for n in range(len(self.cells), len(self.sent)):
            sent, plan = self.sent[n], plans[self.shape[n]]
            if plan is not None and sent:
                sent = tuple([_cell(sent, *step) for step in plan])
            self.cells.append(sent)

    def seq(self, n: int) -> str:
        """The sortable position of a row."""
        phase = self.phase(n) if self.op[n] == "r" else "0"
        return f"{FIRST_EPOCH}{self.major[n]}{phase}{self.offset[n]:011x}{self.partition[n]:04x}"

    def phase(self, n: int) -> str:
        """Where a read stands inside its position: behind the rows, where it saw all of them."""
        return "1" if self.reads_last and n in self.whole else "0"

    def alike(self, one: Cells, other: Cells) -> bool:
        """Whether an image makes no version after another: NULL, NaN and documents by value."""
        if one == other:
            return True
        if self.tracked is None and not self.strange:
            return False
        for n in range(len(one)) if self.tracked is None else self.tracked:
            if one[n] != other[n] and not (
                n in self.strange and _alike(one[n], other[n], self.dialect)
            ):
                return False
        return True


_PLACE = ("topic_id", "partition", "offset")
_UNKNOWN = {"record": -1, "key": "", "major": "", "own": "", "sent": (), "shape": -1}


def _alike(one: object, other: object, dialect: Dialect) -> bool:
    """Whether unequal cells say the same: not a number, or a document that is printed anew."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isnan(one) and math.isnan(other)
    if isinstance(one, str) and isinstance(other, str):
        return documents.alike(one, other, dialect)
    return False


# Where a column's cell stands in what was sent, -1 where it does not, and its types there and here.
Step = tuple[int, ColumnType | None, ColumnType | None]


def _plan(shape: Shape, columns: Mapping[str, ColumnType]) -> list[Step] | None:
    """How a shape's cells become the table's; None where they are."""
    places = {name: place for place, name in enumerate(shape.names)}
    steps: list[Step] = []
    for name, to in columns.items():
        of = shape.declared.get(name)
        kind = of or shape.inferred.get(name) or to
        steps.append((places.get(name, -1), of, to if kind != to else None))
    same = [step[0] for step in steps] == list(range(len(shape.names)))
    return None if same and all(to is None for _, _, to in steps) else steps


def _cell(sent: Cells, place: int, of: ColumnType | None, to: ColumnType | None) -> object:
    if place < 0:
        return None
    return (
        sent[place] if to is None or sent[place] is UNSENT else widening.widen(sent[place], of, to)
    )
