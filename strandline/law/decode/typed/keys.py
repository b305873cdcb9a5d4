"""Keys of records by their bytes: their canonical text, read once where it comes again."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strandline.cells.types import ColumnType, Kind, Wire
from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.formats.reading import Formats, Written
from strandline.formats.registry.avro import writer_of
from strandline.formats.registry.framing import Framing
from strandline.formats.registry.schemas import SchemaType
from strandline.law.decode.cells import key_of
from strandline.law.decode.keys import ROUTED
from strandline.law.decode.typed.layouts.avro_row import (
    BITS,
    VARINT,
    field_of,
    is_value,
    number,
)
from strandline.law.decode.typed.layouts.documents import prefix_of
from strandline.law.decode.typed.layouts.text import unclear
from strandline.law.decode.typed.refusal import UnclearError

_MOST = 200_000  # keys that are remembered
_PLAIN = frozenset({Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.TEXT})

_SCHEMA = b'"schema"'

# A key of one whole number, and how many digits are surely one of its type.
_NUMBER = re.compile(rb'\{"([A-Za-z_][A-Za-z0-9_]*)":(0|-?[1-9][0-9]{0,17})\}')
_DIGITS = {Kind.INT16: 4, Kind.INT32: 9, Kind.INT64: 18}

# The canonical text, the columns, and whether it is the same whatever types are known.
Known = tuple[str, tuple[str, ...], bool]


@dataclass(slots=True)
class Keys:
    """The keys of a topic. What is remembered holds for the types that it was read with.

    The last key with a schema told what it is: what stands before and behind the columns of such
    keys, and their types. `numbered` is the one column of an Avro key that is a whole number.
    """

    formats: Formats
    known: dict[bytes, Known] = field(default_factory=dict)
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    prefix: bytes = b"\xff"  # which no key begins with
    suffix: bytes = b"}"
    described: Mapping[str, ColumnType] = field(default_factory=dict)
    numbered: str | None = None

    def known_with(self, types: Mapping[str, ColumnType]) -> dict[bytes, Known]:
        """What is remembered of keys that were read with these types."""
        if types is not self.types:
            self.known.clear()
            self.types = types
        return self.known

    def read(self, data: bytes, types: Mapping[str, ColumnType]) -> Known:
        """The key with the types of its record's row; `UnclearError` where it is unclear."""
        if len(self.known_with(types)) >= _MOST:
            self.known.clear()
        try:
            found = self._simple(data, types) or self._read(data, types)
        except (UndecodableError, ValueError, RecursionError, TypeError) as error:
            raise UnclearError from error
        self.known[data] = found
        return found

    def are_alike(self, data: bytes, other: bytes) -> bool:
        """Whether two keys have the same schema before them, or surely none.

        The framing of headers nobody says.
        """
        if self._is_described(data):
            is_json = self.suffix or self.formats.key is Framing.AUTO
            return bool(is_json) and self._is_described(other)
        return all(each.startswith(b"{") and _SCHEMA not in each for each in (data, other))

    def _is_described(self, data: bytes) -> bool:
        """Whether a key has the schema before it that the last one with a schema had."""
        return data.startswith(self.prefix) and data.endswith(self.suffix)

    def is_plain(self, data: bytes | None) -> bool:
        """Whether a tombstone with that key is of the row that was read with it."""
        found = None if data is None else self.known.get(data)
        return found is not None and found[2]

    def _simple(self, data: bytes, types: Mapping[str, ColumnType]) -> Known | None:
        """A key of one whole number, which is canonical as it stands; the commonest of all."""
        described = self._is_described(data)
        if described:
            data, types = data[len(self.prefix) : len(data) - len(self.suffix)], self.described
            if self.numbered is not None:
                return self._of_number(data, self.numbered)
        found = _NUMBER.fullmatch(data)
        if found is None:
            return None
        name = found[1].decode()
        of = types.get(name)
        if of is None:
            return None if described else (data.decode(), (name,), True)
        fits = of.wire is Wire.PLAIN and len(found[2]) <= _DIGITS.get(of.kind, 0)
        if not fits or (described and len(types) > 1):
            return None
        return data.decode(), (name,), True

    def _of_number(self, datum: bytes, name: str) -> Known:
        if not VARINT.fullmatch(datum):
            raise UnclearError
        found = number(datum)
        limit = 1 << (BITS[self.described[name].kind] - 1)
        if not -limit <= found < limit:
            raise UnclearError
        return f'{{"{name}":{found}}}', (name,), True

    def _read(self, data: bytes, types: Mapping[str, ColumnType]) -> Known:
        cells, types = self._cells(data, types)
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

    def _cells(
        self, data: bytes, types: Mapping[str, ColumnType]
    ) -> tuple[Any, Mapping[str, ColumnType]]:
        """The columns of a key and their types."""
        written = self.formats.written_key(data)
        if written is None and unclear([data]):
            raise UnclearError
        if written is None and self._is_described(data):
            return json.loads(data[len(self.prefix) : -1]), self.described
        document = connect.parse(data, "key") if written is None else written.read("key")
        if document.schema is None:
            return document.payload, types
        if not self._is_described(data):
            self.prefix = prefix_of(data) if written is None else written.framing
            self.suffix = b"}" if written is None else b""
            self.described = connect.column_types(document.schema)
            self.numbered = None if written is None else _numbered(written, self.described)
        return document.payload, self.described


def _numbered(written: Written, types: Mapping[str, ColumnType]) -> str | None:
    """The column of an Avro key that is one whole number."""
    if written.schema.type is not SchemaType.AVRO or len(types) != 1:
        return None
    ((name, of),) = types.items()
    writer = writer_of(written.schema.text, written.references)
    (field,) = field_of(writer.parsed, writer.named).avro["fields"]
    kind = field_of(field["type"], writer.named)
    is_number = kind.kind in {"int", "long"} and kind.null is None and is_value(kind.kind, of)
    return name if is_number else None


__all__ = ("Keys", "Known")
