"""What the Spark engine asks a connector: the columns of `strandline.connectors.Connector`."""

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.version import TimeQuality


class Connector(ABC):
    """One connector's meaning of `source` in columns; every field of `source` is text."""

    names: ClassVar[tuple[str, ...]]
    fields: ClassVar[tuple[str, ...]]  # the fields of `source` that are read, besides the common

    @abstractmethod
    def major(self, source: Column) -> Column:
        """The major position, fixed-width hexadecimal text; NULL where there is none."""

    @abstractmethod
    def position(self, source: Column) -> Column:
        """The position for people."""

    @abstractmethod
    def link(self, source: Column) -> Column:
        """Equal for the two halves of a key move."""

    @abstractmethod
    def identity(self, source: Column) -> tuple[Column, ...]:
        """With op, key and content it tells a re-delivery from another change."""

    @abstractmethod
    def quality(self, source: Column) -> Column:
        """The quality of a streamed change's time, as text."""

    @abstractmethod
    def tx_id(self, source: Column) -> Column:
        """The transaction."""


def hexadecimal(value: Column, digits: int) -> Column:
    """Decimal text as unsigned hexadecimal of that width; NULL where it is none or does not fit."""
    largest = (1 << (4 * digits)) - 1
    shaped = value.rlike(rf"^\d{{1,{len(str(largest))}}}$")
    fits = shaped & (value.try_cast("decimal(20,0)") <= F.lit(Decimal(largest)))
    return F.when(fits, F.lpad(F.lower(F.conv(value, 10, 16)), digits, "0"))


def quality(value: TimeQuality) -> Column:
    """A quality as a literal."""
    return F.lit(value.value)
