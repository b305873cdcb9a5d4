"""After images: the cells of rows, made column by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from strandline.law.decode.typed.cells import Make, is_fraction
from strandline.law.decode.typed.refusal import every, require
from strandline.law.decode.typed.shapes import UNSENT


@dataclass(slots=True)
class Images:
    """What images hold: their cells, `UNSENT` where one stands for what was not sent.

    `kinds` has the classes of the cells in columns of JSON's own types, for each image; `partial`
    the numbers of images that lack a cell.
    """

    cells: list[tuple[object, ...]]
    kinds: Sequence[tuple[type, ...]]
    partial: set[int]


def images(
    rows: Sequence[tuple[Any, ...]],
    makers: Sequence[Make | None],
    inferred: Sequence[int],
    unavailable: frozenset[str],
) -> Images:
    """The images of a layout's rows; `RefusedError` where a cell is for the general decoder."""
    cells = list[tuple[object, ...]](rows)
    partial: set[int] = set()
    if cells and (any(makers) or not all(map(unavailable.isdisjoint, cells))):
        columns = list[Sequence[object]](zip(*cells, strict=True))
        for place, make in enumerate(makers):
            columns[place] = _column(columns[place], make, unavailable, partial)
        cells = list(zip(*columns, strict=True))
    kinds: Sequence[tuple[type, ...]] = [()] * len(rows)
    if inferred and cells:
        kinds = list(zip(*[_kinds([row[n] for row in cells]) for n in inferred], strict=True))
    return Images(cells, kinds, partial)


def _column(
    column: Sequence[object], make: Make | None, unavailable: frozenset[str], partial: set[int]
) -> Sequence[object]:
    """The values of a column; adds the rows in which its cell was not sent."""
    if not unavailable.isdisjoint(column):
        unsent = {n for n, cell in enumerate(column) if cell in unavailable}
        partial |= unsent
        column = [UNSENT if n in unsent else cell for n, cell in enumerate(column)]
    return column if make is None else every(_maker(make), column)


def _maker(make: Make) -> Any:
    return lambda cell: cell if cell is None or cell is UNSENT else make(cell)


def _kinds(column: Sequence[object]) -> list[type]:
    """The classes of cells; refuses numbers that may have been integers of too many digits."""
    kinds = list(map(type, column))
    if float in kinds:
        require(type(cell) is not float or is_fraction(cell) for cell in column)
    return kinds
