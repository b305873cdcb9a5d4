"""The clock: a subject and the unit in turns over the same records."""

import gc
import tempfile
from collections.abc import Callable, Sized
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.core.records import Records
from bench.core.unit import Unit

FEW = 2_000  # records that tell how many a row can have

Prepared = Callable[[], Sized]
Subject = Callable[[Records], Prepared]


@dataclass(frozen=True, slots=True)
class Timed:
    """The seconds of each round after the warm-up, the subject's beside the unit's."""

    records: int
    seconds: tuple[float, ...]
    unit: tuple[float, ...]

    @property
    def rates(self) -> list[float]:
        """Records a second, slowest first."""
        return sorted(self.records / each for each in self.seconds)

    @property
    def ratio(self) -> float:
        """How many of DuckDB's passes the subject takes: the median over the rounds."""
        return median(own / unit for own, unit in zip(self.seconds, self.unit, strict=True))


@dataclass(frozen=True, slots=True)
class Limits:
    """How many records and rounds a row has, and about how many seconds for the subject."""

    records: int = 200_000
    rounds: int = 5
    seconds: float = 10.0


def timed(
    make: Callable[[int], Records],
    subject: Subject,
    made: Callable[[Records], int],
    limits: Limits,
) -> Timed:
    """Times a subject; `made` is how many things it has to make of records."""
    records = make(limited(_pace(make, subject, made), limits))
    run = subject(records)
    # What was made for the subject is no work of its collector.
    gc.collect()
    gc.freeze()
    try:
        with tempfile.TemporaryDirectory() as folder:
            unit = Unit(records, Path(folder))
            rounds = [
                (_seconds(run, made(records)), unit.seconds()) for _ in range(1 + limits.rounds)
            ]
            unit.close()
    finally:
        gc.unfreeze()
    seconds, units = zip(*rounds[1:], strict=True)
    return Timed(len(records), seconds, units)


def limited(pace: float, limits: Limits) -> int:
    """How many changes a row has where one takes `pace` seconds."""
    possible = int(limits.seconds / (1 + limits.rounds) / pace)
    return min(limits.records, max(possible, FEW))


def _pace(
    make: Callable[[int], Records], subject: Subject, made: Callable[[Records], int]
) -> float:
    """Seconds a change of a few, the second time."""
    few = make(FEW)
    run = subject(few)
    _seconds(run, made(few))
    return _seconds(run, made(few)) / FEW


def _seconds(run: Prepared, wanted: int) -> float:
    """The time of one run; what it has made is counted, and let go, when the clock has stopped."""
    started = perf_counter()
    result = run()
    passed = perf_counter() - started
    if len(result) != wanted:
        raise ValueError(f"the subject made {len(result)} of {wanted}")
    return passed
