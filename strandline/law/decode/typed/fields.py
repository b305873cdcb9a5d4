"""What events say, column by column."""

from collections.abc import Callable, Sequence
from typing import Any


class Fields(dict[str, Sequence[Any]]):
    """The columns of events' fields by name, `op` or `source.lsn`; made when they are asked for."""

    def __init__(self, make: Callable[[str], Sequence[Any]]) -> None:
        """`make`: the column of a field by its name."""
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> Sequence[Any]:
        self[name] = found = self._make(name)
        return found
