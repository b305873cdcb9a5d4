"""Keys of records by their bytes: their canonical text, read once where it comes again."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strandline.cells.types import ColumnType, Kind, Wire
from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.law.cells import key_of
from strandline.law.decode import ROUTED
from strandline.law.typed.layouts import prefix_of
from strandline.law.typed.sources import UnclearError

_MOST = 200_000  # keys that are remembered
_PLAIN = frozenset({Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.TEXT})

# The canonical text, the columns, and whether it is the same whatever types are known.
Known = tuple[str, tuple[str, ...], bool]


@dataclass(slots=True)
class Keys:
    """The keys of a topic. What is remembered holds for the types that it was read with."""

    known: dict[bytes, Known] = field(default_factory=dict)
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    prefix: bytes = b"\x00"
    described: Mapping[str, ColumnType] = field(default_factory=dict)

    def read(self, data: bytes, types: Mapping[str, ColumnType]) -> Known:
        """The key with the types of its record's row; `UnclearError` where it is unclear."""
        if types is not self.types or len(self.known) >= _MOST:
            self.known.clear()
            self.types = types
        try:
            found = self._read(data, types)
        except (UndecodableError, ValueError, RecursionError, TypeError) as error:
            raise UnclearError from error
        self.known[data] = found
        return found

    def is_plain(self, data: bytes | None) -> bool:
        """Whether a tombstone with that key is of the row that was read with it."""
        found = None if data is None else self.known.get(data)
        return found is not None and found[2]

    def _read(self, data: bytes, types: Mapping[str, ColumnType]) -> Known:
        if data.startswith(self.prefix):
            cells: Any = json.loads(data[len(self.prefix) : -1])
            types = self.described
        else:
            document = connect.parse(data, "key")
            cells = document.payload
            if document.schema is not None:
                self.described = connect.column_types(document.schema)
                self.prefix, types = prefix_of(data), self.described
        if not isinstance(cells, dict) or not cells or ROUTED in cells:
            raise UnclearError
        if types is self.described and cells.keys() != types.keys():
            raise UnclearError
        for name, cell in cells.items():
            if not isinstance(cell, bool | int | str):
                raise UnclearError
            if name in types and types[name].wire is not Wire.PLAIN:
                raise UnclearError
        plain = all(n not in types or types[n].kind in _PLAIN for n in cells)
        try:
            return key_of(cells, types, "key"), tuple(cells), plain
        except UndecodableError as error:
            raise UnclearError from error


__all__ = ("Keys", "Known")
