"""What the Spark engine asks a connector: the columns of `strandline.connectors.Connector`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from functools import reduce
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.version import TimeQuality
from strandline.connectors import Connector as Rules

_NUMBERED = 307  # Debezium 3.7: since then `total_order` survives restarts


class Connector(ABC):
    """One connector's meaning of `source` in columns; every field of `source` is text.

    `rules` is its twin in the core, whose habits (`shifts`, `shares`, …) hold here as well.
    """

    rules: ClassVar[Rules]
    fields: ClassVar[tuple[str, ...]]  # the fields of `source` that are read, besides the common

    @abstractmethod
    def major(self, source: Column) -> Column:
        """The major position, fixed-width hexadecimal text; NULL where there is none."""

    def fence(self, source: Column) -> Column | None:
        """The major position of a truncate; None: as that of a row."""
        del source
        return None

    def local(self, source: Column) -> Column | None:
        """`place@shard`: where a row stands in the log of its shard; None: nobody asks."""
        del source
        return None

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

    def micros(self, source: Column) -> Column:
        """The source's time in microseconds since the epoch."""
        return F.coalesce(whole(source["ts_us"]), thousandfold(source["ts_ms"]))

    def ordinal(self, source: Column, transaction: Column) -> Column:
        """A number that tells changes of equal position apart, where it survives restarts."""
        numbered = release(source) >= _NUMBERED
        return F.when(numbered, known(transaction["total_order"]))

    def scope(self, source: Column) -> Column:
        """The physical table, which a truncate is of."""
        parts = [known(source[part]) for part in ("db", "schema", "table")]
        return F.when(parts[-1].isNotNull(), F.concat_ws(".", *parts))

    def in_flight(self, source: Column) -> Column | None:
        """True where the position is not that of the commit; None: it always is."""
        del source
        return None

    def own(self, seq: Column, position: Column) -> Mapping[str, Column] | None:
        """`_seq` and `_position` by a change's own place; None: it has no other place."""
        del seq, position
        return None

    @property
    def rebases(self) -> bool:
        """Whether a change that may be in flight has another place than its commit's: few do."""
        return self.own(F.lit(""), F.lit("")) is not None

    def is_wrapped(self, cell: Column) -> Column | None:
        """Whether a cell has the form of a document around its value; None: none ever has."""
        del cell
        return None


def known(value: Column) -> Column:
    """A field of the envelope; NULL where it is empty."""
    return F.nullif(value, F.lit(""))


def whole(value: Column) -> Column:
    """A field that should be a 64-bit integer; NULL where it is none."""
    return F.when(value.rlike(r"^-?[0-9]+$"), value.try_cast("bigint"))


def thousandfold(value: Column) -> Column:
    """Milliseconds as microseconds; NULL where those are absurd."""
    millis = whole(value)
    return F.when(millis.between(-(1 << 53), 1 << 53), millis * 1000)


def release(source: Column) -> Column:
    """Debezium's version as a number, 3.7 as 307; 0 where it is not said."""
    parts = F.split(source["version"], "\\.")
    number = whole(F.get(parts, F.lit(0))) * 100 + whole(F.get(parts, F.lit(1)))
    return F.coalesce(number, F.lit(0))


def hexadecimal(value: Column, digits: int) -> Column:
    """Decimal text as unsigned hexadecimal of that width; NULL where it is none or does not fit."""
    number = value.try_cast("bigint")
    largest = (1 << (4 * digits)) - 1
    fits_long = number.between(0, min(largest, (1 << 63) - 1))
    plain = fits_long & (number.cast("string") == value)  # soon told, and mostly so
    shaped = value.rlike(rf"^[0-9]{{1,{2 * digits}}}$")
    fits = shaped & (value.try_cast("decimal(38,0)") <= F.lit(Decimal(largest)))
    text = F.when(plain, F.hex(number)).when(fits, F.conv(value, 10, 16))
    return F.lpad(F.lower(text), digits, "0")


def quality(value: TimeQuality) -> Column:
    """A quality as a literal."""
    return F.lit(value.value)


def joined(separator: str, parts: list[Column]) -> Column:
    """Parts as one text; NULL ones are the word None, as the core writes them."""
    texts = (F.coalesce(part.cast("string"), F.lit("None")) for part in parts)
    return reduce(lambda a, b: F.concat(a, F.lit(separator), b), texts)
