"""Text that a terminal may show: untrusted values made harmless, measured, clipped, packed.

Widths are counted in terminal cells: East Asian wide letters take two, combining marks none.
"""

import unicodedata
from collections.abc import Iterable, Iterator

_ELLIPSIS = "…"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """The text with everything escaped that could move, hide, recolour or reorder other text.

    That is what `str.isprintable` refuses: control and format characters (escape sequences, line
    ends, directional marks), lone surrogates, unassigned code points, spaces other than the space.
    """
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return _SHORT.get(letter) or (
        f"\\x{code:02x}"
        if code < 1 << 8
        else f"\\u{code:04x}"
        if code < 1 << 16
        else f"\\U{code:08x}"
    )


def cells(text: str) -> int:
    """How many terminal cells the text takes."""
    return sum(map(_cells, text))


def _cells(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1


def clipped(text: str, width: int) -> str:
    """The text in at most that many cells, with an ellipsis where something is missing."""
    return text if cells(text) <= width else _start(text, width - 1) + _ELLIPSIS


def _start(text: str, width: int) -> str:
    """As much of the text as fits."""
    taken = 0
    for number, letter in enumerate(text):
        taken += _cells(letter)
        if taken > width:
            return text[:number]
    return text


def packed(words: Iterable[str], width: int, joint: str = " ") -> Iterator[str]:
    """The words in lines of at most that many cells; one that is longer is cut, never lost."""
    line = ""
    for word in words:
        longer = f"{line}{joint}{word}" if line else word
        if cells(longer) <= width:
            line = longer
            continue
        if line:
            yield line
        line = word
        while cells(line) > width:
            start = _start(line, width) or line[0]
            yield start
            line = line[len(start) :]
    yield line
