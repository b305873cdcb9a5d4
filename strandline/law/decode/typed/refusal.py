"""Refusals: which rows of a column the typed decoder is not sure of.

Columns are read as wholes. Where one holds rows that are for the general decoder, all of them are
told at once, and the rest is read again without them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from strandline.cells.values import UnfitError, UnheldError

In = TypeVar("In")
Out = TypeVar("Out")


class UnclearError(ValueError):
    """Something that is for the general decoder to judge."""


class RefusedError(Exception):
    """Rows, by their numbers in the columns at hand, that are for the general decoder."""

    def __init__(self, rows: Sequence[int]) -> None:
        """`rows` are in order, and not none."""
        super().__init__(rows)
        self.rows = frozenset(rows)


_REFUSALS = (
    UnclearError, UnfitError, UnheldError, msgspec.DecodeError, UnicodeDecodeError, OverflowError,
)  # fmt: skip


def tried(read: Callable[[In], Out], column: Iterable[In]) -> tuple[list[Out], list[int]]:
    """What could be made of the values, and the numbers of those of which nothing could."""
    made: list[Out] = []
    refused: list[int] = []
    remaining = iter(column)
    while True:
        try:
            made.extend(map(read, remaining))
        except _REFUSALS:
            refused.append(len(made) + len(refused))
        else:
            return made, refused


def every(read: Callable[[In], Out], column: Iterable[In]) -> list[Out]:
    """What is made of each value; `RefusedError` where something is unclear."""
    made, refused = tried(read, column)
    if refused:
        raise RefusedError(refused)
    return made


def distinct(read: Callable[[In], Out], column: Sequence[In]) -> list[Out]:
    """The same, of a column in which values come again: each is read once."""
    values = list(set(column))
    made, refused = tried(read, values)
    for n in reversed(refused):
        del values[n]
    known = dict(zip(values, made, strict=True))
    if refused:
        require(value in known for value in column)
    return [known[value] for value in column]


def require(holds: Iterable[object]) -> None:
    """Refuses the rows for which something does not hold."""
    refused = [n for n, held in enumerate(holds) if not held]
    if refused:
        raise RefusedError(refused)
