"""Layouts: how the records of one schema are written, learned from the first of them.

A layout is made once, from a record that the general decoder's own parser has read, and then reads
others like it. With embedded schemas the bytes before the payload are the schema: they are
recognised, not parsed again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from strandline.cells.types import ColumnType, from_connect
from strandline.changes.rules import TableRules
from strandline.errors import UndecodableError
from strandline.formats import connect, flattened
from strandline.law.decode.typed.cells import (
    INFERRED,
    LEAST,
    MOST,
    SCALAR,
    Make,
    is_fraction,
    of_type,
)
from strandline.law.decode.typed.images import Images, images
from strandline.law.decode.typed.refusal import UnclearError, tried
from strandline.law.decode.typed.shapes import Shape
from strandline.law.decode.typed.sources import READERS, Skipped, Transaction

_PAYLOAD = b'"payload":'
_TRIES = 64  # values of a topic that layouts are learned from; others are for the general decoder


class _Deleted(msgspec.Struct, gc=False):
    before: dict[str, bool | int | float | str | None] | None = None


_DELETED = msgspec.json.Decoder(_Deleted)


@dataclass(slots=True)
class Layout:
    """One way in which a topic's values are written.

    `prefix` is what stands before the payload, empty where no schema does; `names` the row's
    columns, `types` what is declared of them. `makers` make the values of columns whose cells are
    none by themselves. `inferred` are the places of columns of JSON's own types. `shapes` are the
    numbers of its shapes by the classes of cells and by the columns of the key.
    """

    prefix: bytes
    names: tuple[str, ...]
    types: Mapping[str, ColumnType]
    described: bool
    connector: str
    decode: Callable[[bytes], Any]
    makers: tuple[Make | None, ...]
    inferred: tuple[int, ...]
    shapes: dict[Any, int] = field(default_factory=dict)

    def events(self, values: Sequence[bytes]) -> tuple[list[Any], list[int]]:
        """The envelopes of values, and the numbers of those that are written in another way."""
        return tried(self._payload if self.prefix else self.decode, values)

    def _payload(self, value: bytes) -> Any:
        if not value.startswith(self.prefix) or not value.endswith(b"}"):
            raise UnclearError
        return self.decode(value[len(self.prefix) : -1])

    def before(self, value: bytes, unavailable: frozenset[str]) -> Mapping[str, Any]:
        """What tells of a delete's types: its `before`, where no schema does."""
        before = None if self.described else _DELETED.decode(value).before
        if before is None:
            return {}
        if not unavailable.isdisjoint(before.values()) or not all(map(_is_clear, before.values())):
            raise UnclearError
        return before

    def images(self, rows: Sequence[msgspec.Struct], unavailable: frozenset[str]) -> Images:
        """The cells of after images."""
        return images(rows, self.makers, self.inferred, unavailable)

    def shape_of(self, kinds: tuple[type, ...], key: tuple[str, ...], shapes: list[Shape]) -> int:
        """The number of the shape of such rows in `shapes`, which may get one more.

        `kinds` are the classes of cells in the columns of which nobody declared the type.
        """
        found = self.shapes.get((kinds, key))
        if found is None:
            shown = {
                self.names[n]: INFERRED[kind]
                for n, kind in zip(self.inferred, kinds, strict=True)
                if kind in INFERRED
            }
            found = self.shapes[kinds, key] = len(shapes)
            shapes.append(self._shape(self.names, shown, key))
        return found

    def deleted(self, before: Mapping[str, Any], key: tuple[str, ...], shapes: list[Shape]) -> int:
        """The same of a delete, whose `before` tells the types of what nobody declared."""
        kinds = {
            name: INFERRED[type(cell)]
            for name, cell in before.items()
            if name not in self.types and cell is not None
        }
        place = ("d", tuple(kinds.items()), key)
        if place not in self.shapes:
            self.shapes[place] = len(shapes)
            shapes.append(self._shape((), kinds, key))
        return self.shapes[place]

    def _shape(
        self, names: tuple[str, ...], inferred: Mapping[str, ColumnType], key: tuple[str, ...]
    ) -> Shape:
        connector = READERS[self.connector][0]
        return Shape(names, self.types, inferred, self.described, connector, key)


def prefix_of(data: bytes) -> bytes:
    """What stands before the payload of a value or key with a schema; empty where there is none."""
    document = json.loads(data)
    if not isinstance(document, dict) or document.keys() != connect.WRAPPER:
        return b""
    if document["schema"] is None or data.count(_PAYLOAD) != 1:
        raise UnclearError
    end = data.index(_PAYLOAD) + len(_PAYLOAD)
    if not data.endswith(b"}") or json.loads(data[:end] + b"null}") != {
        **document,
        "payload": None,
    }:
        raise UnclearError
    return data[:end]


def learned(value: bytes, rules: TableRules) -> Layout:
    """The layout of a value; `UnclearError` where it is for the general decoder to read."""
    prefix = prefix_of(value)
    document = connect.parse(value, "value")
    envelope = document.payload
    source = envelope.get("source") if isinstance(envelope, dict) else None
    if not isinstance(source, dict) or source.get("connector") not in READERS:
        raise UnclearError
    row = envelope.get("after") if envelope.get("after") is not None else envelope.get("before")
    if not isinstance(row, dict):
        raise UnclearError
    if flattened.is_flattened(envelope, document.schema):
        raise UnclearError
    dialect = READERS[str(source["connector"])][0].dialect
    if document.schema is None:
        types, names = dict(rules.contract(dialect)), tuple(row)
    else:
        fields = connect.row_fields(document.schema)
        types = {name: from_connect(of, dialect) for name, of in fields.items()}
        names = tuple(types)
    return _layout(prefix, names, types, document.schema is not None, str(source["connector"]))


def _layout(
    prefix: bytes,
    names: tuple[str, ...],
    types: Mapping[str, ColumnType],
    described: bool,  # noqa: FBT001
    connector: str,
) -> Layout:
    if not names:
        raise UnclearError
    plans = [of_type(types[name]) if name in types else (SCALAR, None) for name in names]
    # A column may be called anything: fields are numbered, and renamed to it.
    row = msgspec.defstruct(
        "Row",
        [(f"c{n}", of) for n, (of, _) in enumerate(plans)],
        rename={f"c{n}": name for n, name in enumerate(names)},
        forbid_unknown_fields=True,
        gc=False,
    )
    envelope = msgspec.defstruct(
        "Envelope",
        [
            ("op", str),
            ("source", READERS[connector][1]),
            ("before", Skipped | None, None),
            ("after", row | None, None),
            ("transaction", Transaction | None, None),
            ("ts_ms", int | None, None),
        ],
        gc=False,
    )
    makers = tuple(make for _, make in plans)
    return Layout(
        prefix=prefix,
        names=names,
        types=types,
        described=described,
        connector=connector,
        decode=msgspec.json.Decoder(envelope).decode,
        makers=makers,
        inferred=tuple(n for n, name in enumerate(names) if name not in types),
    )


def _is_clear(cell: object) -> bool:
    """Whether a cell of JSON's own types is surely what was sent."""
    if type(cell) is float:
        return is_fraction(cell)
    return type(cell) is not int or LEAST <= cell <= MOST


@dataclass(slots=True)
class Layouts:
    """The layouts of a topic, the one that was of use last first."""

    rules: TableRules
    known: list[Layout] = field(default_factory=list)
    tried: int = 0

    @property
    def is_full(self) -> bool:
        """Whether no more of them are learned."""
        return self.tried >= _TRIES

    def prefer(self, layout: Layout) -> None:
        """Has a layout tried before the others."""
        if self.known and layout is not self.known[0]:
            self.known.remove(layout)
            self.known.insert(0, layout)

    def learn(self, value: bytes) -> Layout | None:
        """A layout for such a value; None where there is none, or too many have been tried."""
        if self.is_full:
            return None
        self.tried += 1
        try:
            layout = learned(value, self.rules)
        except (UnclearError, UndecodableError, ValueError, RecursionError, TypeError):
            return None  # the general decoder says what is wrong with it
        self.known.insert(0, layout)
        return layout


__all__ = ("Layout", "Layouts", "prefix_of")
