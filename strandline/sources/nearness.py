"""What there is instead of a name that is not there, the closest first; fit for a terminal."""

import difflib
from collections.abc import Collection

from strandline.timelines.printable import clipped, printable

SHOWN = 4  # names in an error
_WIDTH = 80  # cells of one of them


def nearest(wanted: str, names: Collection[str]) -> str:
    """What there is, the closest to what was wanted first."""
    return choice(closest(wanted, names), names) if names else "there are none yet"


def closest(wanted: str, names: Collection[str]) -> list[str]:
    """A few of the names."""
    close = difflib.get_close_matches(wanted, names, SHOWN, cutoff=0.4)
    return close or sorted(names)[:SHOWN]


def choice(close: Collection[str], names: Collection[str]) -> str:
    """In words, of all the names those that are close."""
    verb = "is" if len(close) == 1 else "are"
    if len(close) == len(names):
        return f"there {verb} {listed(close)}"
    return f"the closest of {len(names)} {verb} {listed(close)}"


def listed(names: Collection[str]) -> str:
    """The names behind one another."""
    return ", ".join(map(shown, names))


def shown(name: str) -> str:
    """A name as a terminal may show it."""
    return clipped(printable(name), _WIDTH)
