"""Positions: where in the source's log a change stands, as text that sorts.

`_seq = epoch · major · tie`, all of fixed width: 4 hexadecimal digits of epoch (the log's lineage),
the digits of the connector's major position, 16 hexadecimal digits of tie: phase, Kafka offset,
partition. The major position alone orders changes; inside one major position the offset does, since
Kafka keeps the order of first deliveries (docs/facts/order.md, "Which order to trust"). Records
without a key are spread over partitions: where they have a number inside their transaction it
stands for the offset. Text, not binary: Delta keeps min/max of text, and people can read it.
"""

from dataclasses import dataclass
from enum import StrEnum

from strandline.changes.record import Coordinates
from strandline.errors import UndecodableError

_OFFSET_DIGITS = 11
_PARTITION_DIGITS = 4
_PLACE_DIGITS = _OFFSET_DIGITS + _PARTITION_DIGITS
_TIE_DIGITS = 1 + _PLACE_DIGITS
_EPOCH_DIGITS = 4
MOST_ORDINAL = 13  # decimal digits that have room in those of an offset
NO_PARTITION = "f" * _PARTITION_DIGITS
LAST_EPOCH = 16**_EPOCH_DIGITS - 1


FIRST_EPOCH = f"{0:0{_EPOCH_DIGITS}x}"  # of a log of which no other lineage is declared


class Phase(StrEnum):
    """What comes first inside one major position, after truncates."""

    ROW = "0"
    READ = "1"  # of a snapshot that saw everything up to its position


@dataclass(frozen=True, slots=True)
class Local:
    """A place in the log of one shard; with those of other shards it does not compare."""

    shard: str
    place: str  # fixed width

    def precedes(self, other: "Local") -> bool:
        return self.shard == other.shard and self.place < other.place


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the source's log.

    `major` orders (fixed width for one connector; "" where only the offset does). `text` is for
    people. `link` is equal for the two halves of one key move and different for two changes of one
    key. `own` is the position by the change's own place in the log, where what orders it besides
    may be unknown. `local` of a row is its place in its shard; a truncate has one if nothing else
    orders it.
    """

    major: str
    text: str
    link: str
    own: "Position | None" = None
    local: Local | None = None


def digits(value: object, width: int, what: str) -> str:
    """A non-negative integer as hexadecimal digits; numbers may come as text.

    Raises `UndecodableError` where it is not one or does not fit.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UndecodableError("no_position", f"{what} is {value!r}, not an integer")
    shaped = isinstance(value, int) or (value.isascii() and value.isdigit())
    text = f"{int(value):0{width}x}" if shaped and len(str(value)) <= 2 * width else ""
    if not text or text.startswith("-"):
        raise UndecodableError("no_position", f"{what} is {value!r}, not a position")
    if len(text) > width:
        raise UndecodableError("no_position", f"{what} is {value}, out of range")
    return text


def seq(major: str, at: Coordinates, *, phase: Phase = Phase.ROW, epoch: int = 0) -> str:
    """The sortable position of a row change."""
    return f"{_epoch(epoch)}{major}{phase.value}{_place(at)}"


def fence_seq(major: str, *, epoch: int = 0) -> str:
    """The sortable position of a truncate: before every row change of the same major position.

    Its own offset says nothing, a truncate has no key and lands in any partition.
    """
    return f"{_epoch(epoch)}{major}{0:0{_TIE_DIGITS}x}"


def numbered(position: str, ordinal: str | None) -> str:
    """The same position with a number inside its transaction for the offset; as it is without."""
    if ordinal is None or not (ordinal.isascii() and ordinal.isdigit()):
        return position
    if len(ordinal) > MOST_ORDINAL:
        return position
    return f"{position[:-_PLACE_DIGITS]}{int(ordinal):0{_OFFSET_DIGITS}x}{NO_PARTITION}"


def lane(position: str) -> str:
    """What its tie compares in: a partition, or numbers inside transactions."""
    return position[-_PARTITION_DIGITS:]


def major_of(position: str) -> str:
    """The part of a `_seq` that orders across partitions: epoch and major position."""
    return position[:-_TIE_DIGITS]


def is_placed(major: str) -> bool:
    """Whether this part of a `_seq` tells a place in the log; else only offsets order."""
    return len(major) > _EPOCH_DIGITS


def rebased(position: str, major: str) -> str:
    """The same record's place in its epoch at another major position."""
    return f"{position[:_EPOCH_DIGITS]}{major}{position[-_TIE_DIGITS:]}"


def before_phase(position: str) -> str:
    """The place of a fence before all rows of a row's own major position and phase."""
    return f"{position[:-_PLACE_DIGITS]}{0:0{_PLACE_DIGITS}x}"


def directly_after(position: str, at: Coordinates) -> str:
    """The `_seq` of a record there which has no position but that of the one before it."""
    return f"{position[:-_PLACE_DIGITS]}{_place(at)}"


def next_to(position: str) -> str:
    """The place of a fence behind that row, before whatever may come."""
    place = int(position[-_PLACE_DIGITS:], 16) + 1
    return f"{position[:-_PLACE_DIGITS]}{place:0{_PLACE_DIGITS}x}"


def _epoch(number: int) -> str:
    return f"{number:0{_EPOCH_DIGITS}x}"


def _place(at: Coordinates) -> str:
    return f"{at.offset:0{_OFFSET_DIGITS}x}{at.partition:0{_PARTITION_DIGITS}x}"
