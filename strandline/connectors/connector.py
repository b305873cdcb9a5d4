"""What the engines ask a connector: position, identity, time, transaction of a `source`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from strandline.cells import instants
from strandline.cells.types import Dialect
from strandline.changes.position import Position
from strandline.changes.version import TimeQuality

_NUMBERED = (3, 7)  # since then `total_order` survives a restart inside a transaction


@dataclass(frozen=True, slots=True)
class Moment:
    """The source's own time and how far it can be trusted; `at` is None where it has none.

    With the quality `KAFKA` it is no time of the change, and is only shown.
    """

    at: datetime | None
    quality: TimeQuality

    @staticmethod
    def of(source: Mapping[str, Any], quality: TimeQuality) -> "Moment":
        """From `ts_us` (since Debezium 2.6), else `ts_ms`."""
        micros = integer(source.get("ts_us"))
        if micros is None:
            micros = thousandfold(integer(source.get("ts_ms")))
        return Moment(instant(micros), quality)


def instant(micros: int | None) -> datetime | None:
    """Microseconds since the epoch as an instant; None where the calendar does not reach."""
    if micros is None:
        return None
    try:
        return instants.instant(micros)
    except OverflowError:
        return None


def thousandfold(number: int | None) -> int | None:
    """Milliseconds in microseconds; None stays None."""
    return None if number is None else number * 1000


def integer(value: object) -> int | None:
    """An integer of the envelope, which may come as text; None where it is none or absurd."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if -(1 << 63) <= number < 1 << 63 else None


def release(source: Mapping[str, Any]) -> tuple[int, int]:
    """Debezium's version as (major, minor); (0, 0) where it is not said."""
    parts = str(source.get("version") or "").split(".")
    if len(parts) > 1 and parts[0].isdigit() and parts[1].isdigit():
        return int(parts[0]), int(parts[1])
    return 0, 0


def text(value: object) -> str | None:
    """A field of the envelope as text; None where it is null, absent or empty."""
    return None if value is None or value == "" else str(value)


class Connector(ABC):
    """One connector's meaning of `source`; stateless.

    `names` are what a source file may call it, `accepts` what `source.connector` may say. `shifts`:
    a key may be taken over before its row leaves it, inside one statement. `shares`: several
    changes may have one position and identity. `reads_last`: a snapshot read saw everything at its
    position. `reads_newest`: a snapshot's position is where the log then ends, so nothing that was
    sent before is newer. `infers_moves`: key moves have no headers. `full_before`: a before image
    is the whole row as it was, under any setting. `shares_fences`: rows of other transactions may
    have a truncate's position (docs/facts/questions.md, A11). `shards`: a truncate may be ordered
    by the log of its shard alone. `packs`: an update of all columns may come as a create.
    `several_tasks`: its databases may be read side by side, under
    one name. `apart`: the fields without which several changes of one transaction look alike: none
    is known again. `dialect`: what its database's values are like.

    What these habits ask for is in docs/facts/order.md: "Shifts inside a statement", "Shared
    positions", "Which order to trust", "Key moves" and "Before images".
    """

    names: ClassVar[tuple[str, ...]]
    accepts: ClassVar[tuple[str, ...]]
    shifts: ClassVar[bool] = False
    shares: ClassVar[bool] = False
    reads_last: ClassVar[bool] = False
    reads_newest: ClassVar[bool] = False
    infers_moves: ClassVar[bool] = False
    full_before: ClassVar[bool] = True
    shares_fences: ClassVar[bool] = False
    shards: ClassVar[bool] = False
    packs: ClassVar[bool] = False
    several_tasks: ClassVar[bool] = False
    apart: ClassVar[tuple[str, ...]] = ()
    dialect: ClassVar[Dialect] = Dialect(fraction=6)

    def __eq__(self, other: object) -> bool:
        """Of a class all are one, also those that another process has made."""
        return type(self) is type(other)

    def __hash__(self) -> int:
        """As equal ones have it."""
        return hash(type(self))

    @abstractmethod
    def recognises(self, source: Mapping[str, Any]) -> bool:
        """True for a `source` that names no connector but has this one's fields."""

    @abstractmethod
    def position(self, source: Mapping[str, Any]) -> Position:
        """The position of a row change or truncate; UndecodableError where there is none."""

    def fence(self, source: Mapping[str, Any]) -> Position:
        """The position of a truncate, which may lack what rows have."""
        return self.position(source)

    @abstractmethod
    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        """The fields that, with op, key and content, tell a re-delivery from another change."""

    @abstractmethod
    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        """The source's time of the change."""

    @abstractmethod
    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        """The transaction, for `_tx_id`."""

    def ordinal(self, source: Mapping[str, Any], transaction: Mapping[str, Any]) -> str | None:
        """A number that tells changes of equal position apart, where it survives restarts."""
        if release(source) >= _NUMBERED:
            return text(transaction.get("total_order"))
        return None

    def table(self, source: Mapping[str, Any]) -> tuple[str, ...]:
        """The parts of the physical table's name, none where nothing names it.

        One topic may carry several tables.
        """
        parts = [text(source.get(part)) for part in ("db", "schema", "table")]
        return tuple(part for part in parts if part) if parts[2] else ()

    def defined(self, table: str, place: Mapping[str, Any]) -> str:
        """The table that a DDL event defines, from the name that it has there.

        As records name it: the parts of `table` with dots between them.
        """
        del place
        return table

    def tablet(self, source: Mapping[str, Any]) -> str | None:
        """The part of the table whose rows a truncate ends; None where it ends those of all."""
        del source
        return None

    def in_flight(self, source: Mapping[str, Any]) -> bool:
        """True where the position is not that of the commit (docs/facts/questions.md, A10)."""
        del source
        return False

    def unwrap(
        self, row: Mapping[str, Any], *, partial: bool
    ) -> tuple[Mapping[str, Any], frozenset[str]]:
        """The cells of an image, and the columns that it leaves out though it names them."""
        del partial
        return row, frozenset()

    def unwrap_schema(self, field: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema of a column's value from the schema of its cell."""
        return field

    def connect_schema(self, native: Mapping[str, Any]) -> dict[str, Any] | None:
        """The schema that this connector, set to its defaults, would embed for a native column."""
        del native
        return None
