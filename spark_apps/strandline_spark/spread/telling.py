"""What tasks tell the driver beside their rows: each part once, however often it was computed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

T = TypeVar("T")

_Parts = dict[tuple[int, int], Any]


class _Union(AccumulatorParam[_Parts]):
    """Of a part that was computed twice both tell the same."""

    def zero(self, value: _Parts) -> _Parts:
        """See `AccumulatorParam`."""
        del value
        return {}

    def addInPlace(self, value1: _Parts, value2: _Parts) -> _Parts:  # noqa: N802 - Spark's name
        """See `AccumulatorParam`."""
        value1.update(value2)
        return value1


@dataclass(frozen=True, slots=True)
class Telling(Generic[T]):
    """Gathers what the parts of one job tell; `nothing` is what no part tells."""

    parts: Accumulator[_Parts]
    nothing: T = field(repr=False)

    @staticmethod
    def of(spark: SparkSession, nothing: T) -> "Telling[T]":
        """One for a job to come."""
        return Telling(spark.sparkContext.accumulator({}, _Union()), nothing)

    @property
    def told(self) -> T:
        """What all parts of the job have told together."""
        own = self.parts.value
        return reduce(add, (own[part] for part in sorted(own)), self.nothing)

    @property
    def tell(self) -> Callable[[int, T], None]:
        """For a task: tells of its part with that number."""
        parts = self.parts

        def tell(number: int, what: T) -> None:
            context = TaskContext.get()
            parts.add({(0 if context is None else context.partitionId(), number): what})

        return tell
