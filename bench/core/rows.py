"""The lines of the table: what is measured, over which records, and what it has to reach."""

from collections.abc import Callable, Sized
from dataclasses import dataclass
from functools import partial

from bench.core import records, subjects
from bench.core.records import Records
from bench.core.timing import Subject


@dataclass(frozen=True, slots=True)
class Row:
    """One line.

    `subject` None: there is none yet. `versions`: whether it makes versions, and not as many
    things as there are records. `least` and `aim` are records a second.
    """

    name: str
    told: str
    make: Callable[[int], Records]
    subject: Subject | None
    versions: bool
    least: int
    aim: int

    def made(self, given: Records) -> int:
        """How many things the subject has to make."""
        return given.versions if self.versions else len(given)


@dataclass(frozen=True, slots=True)
class Hot:
    """The line of a key with very many changes; `least` and `aim` are bytes at most."""

    name: str
    changes: int
    least: int
    aim: int


def _whole(subject: Callable[[Records], Sized]) -> Subject:
    """A subject that begins with the records themselves."""
    return lambda given: partial(subject, given)


ROWS = (
    Row(
        "decode", "decode, plain JSON without schemas",
        records.plain, _whole(subjects.decode), False, 200_000, 300_000,
    ),
    Row(
        "described", "the same with embedded schemas",
        records.described, _whole(subjects.decode), False, 120_000, 250_000,
    ),
    Row(
        "avro", "the same in Avro, with its schemas in a registry",
        records.in_avro, _whole(subjects.decode), False, 120_000, 250_000,
    ),
    Row(
        "fold", "fold of plain rows sorted by key and position into versions",
        records.plain, subjects.fold, True, 300_000, 400_000,
    ),
    Row(
        "history", "record to version, everything included, alone in one process",
        records.plain, _whole(subjects.history), True, 80_000, 140_000,
    ),
    Row(
        "avro-history", "the same in Avro, with its schemas in a registry",
        records.in_avro, _whole(subjects.history), True, 96_000, 168_000,
    ),
    Row(
        "general", "general decoder, nothing typed accepted",
        records.plain, _whole(subjects.general), False, 15_000, 30_000,
    ),
    Row(
        "partial", "partial images, every update leaves columns out, record to version",
        records.partial, _whole(subjects.history), True, 50_000, 100_000,
    ),
    Row(
        "moves", "moves, 10 % of changes, record to version",
        records.moved, _whole(subjects.history), True, 40_000, 80_000,
    ),
)  # fmt: skip
HOT = Hot("hot", 5_000_000, 300_000_000, 100_000_000)
NAMES = (*(row.name for row in ROWS), HOT.name)
