"""Positions: where in the source's log a change stands, as text that sorts.

`_seq = epoch · major · tie`, fixed-width lower-case hexadecimal: 4 digits of epoch (the log's
lineage), the connector's major position, 16 digits of Kafka offset. The major position alone
orders changes; inside one major position the offset does, since Kafka keeps the order of first
deliveries (ordering-notes §1). Text, not binary: Delta keeps min/max of text, people can read it.
"""

from dataclasses import dataclass

from strandline.errors import UndecodableError

EPOCH = "0000"
_TIE_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the source's log.

    `major` orders (fixed width for one connector). `text` is for people. `link` is equal for the
    two halves of one key move and different for two changes of one key.
    """

    major: str
    text: str
    link: str


def digits(value: object, width: int, what: str) -> str:
    """A non-negative integer as hexadecimal digits; numbers may come as text.

    Raises `UndecodableError` where it is not one or does not fit.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UndecodableError("no_position", f"{what} is {value!r}, not an integer")
    try:
        number = int(value)
    except ValueError as error:
        raise UndecodableError("no_position", f"{what} is {value!r}, not an integer") from error
    text = f"{number:0{width}x}"
    if number < 0 or len(text) > width:
        raise UndecodableError("no_position", f"{what} is {number}, out of range")
    return text


def seq(major: str, offset: int) -> str:
    """The sortable position of a row change."""
    return f"{EPOCH}{major}{offset:0{_TIE_DIGITS}x}"


def fence_seq(major: str) -> str:
    """The sortable position of a truncate: before every row change of the same major position.

    Its own offset says nothing, a truncate has no key and lands in any partition.
    """
    return f"{EPOCH}{major}{0:0{_TIE_DIGITS}x}"


def major_of(position: str) -> str:
    """The part of a `_seq` that orders across partitions: epoch and major position."""
    return position[:-_TIE_DIGITS]
