"""The typed decoder: what reads a table's well-formed records, made once for each schema of it.

It accepts what it is sure of, and leaves the rest to `strandline.law.decode.general`, which is the
meaning: whatever is accepted here, that one reads as the same row
(tests/properties/test_typed_decoder.py). So a strange record costs time, never a value.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import astuple

from strandline.cells.instants import micros
from strandline.cells.placeholder import spellings
from strandline.cells.values import UnfitError, UnheldError
from strandline.changes import scope
from strandline.law.decode.event import EARLIEST, TOLERANCE
from strandline.law.decode.general import NEW_KEY, OLD_KEY, Decoder
from strandline.law.decode.typed.keys import Keys
from strandline.law.decode.typed.layouts import Layout, Layouts, fractions_are_clear
from strandline.law.decode.typed.shapes import UNSENT, Columns, Shape
from strandline.law.decode.typed.sources import READERS, UnclearError
from strandline.law.landed import Headers

if TYPE_CHECKING:
    from strandline.connectors import Connector

_EARLIEST, _END = micros(EARLIEST), micros(datetime.max.replace(tzinfo=UTC))
_TOLERANCE = TOLERANCE // timedelta(microseconds=1)
_OPS = frozenset("crud")
_MOVES = frozenset({NEW_KEY, OLD_KEY})
_HALVES = {"d": NEW_KEY, "c": OLD_KEY}
_NOT_SNAPSHOT = (None, False, "false")
_MOST_DIGITS = 4300  # of a number: `sys.int_info.default_max_str_digits`
_TOO_LONG = re.compile(rb"[0-9]{4301}")
_LEAST, _MOST = -(1 << 63), 1 << 63  # whole numbers of 64 bits
_DELETED = msgspec.json.Decoder(dict[str, bool | int | float | str | None])

_REFUSED = (
    UnclearError, UnfitError, UnheldError, msgspec.DecodeError, UnicodeDecodeError, OverflowError,
)  # fmt: skip


class Typed:
    """The typed decoder of one topic; `accepts` False: it leaves everything to the general one."""

    def __init__(self, decoder: Decoder, *, accepts: bool = True) -> None:
        """For the records that `decoder` would read of its topic."""
        rules = decoder.rules
        # Lineages, keys that are no keys of records, flattened rows, and columns that schema
        # changes describe by their place in the log, are the general decoder's.
        plain = not (rules.key or rules.epochs or rules.flattened or decoder.history)
        self._asked, self._accepts = accepts, accepts and plain
        self._layouts = Layouts(rules.contract)
        self._keys = Keys()
        self._unavailable = spellings(rules.placeholder)
        self._wanted: Connector | None = decoder.connector
        self._scopes: dict[tuple[str | None, ...], str | None] = {}
        self.shapes: list[Shape] = []

    def anew(self, decoder: Decoder) -> "Typed":
        """One for the same topic, which knows nothing yet."""
        return Typed(decoder, accepts=self._asked)

    def is_plain_key(self, key: bytes | None) -> bool:
        """Whether a tombstone with these bytes is of the row whose key was read from them."""
        return self._keys.is_plain(key)

    def read(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers],
    ) -> tuple[Columns, list[int]]:
        """The changes among the records, and the places of those for the general decoder."""
        found, left = Columns(), list[int]()
        if not self._accepts:
            return found, list(range(len(keys)))
        part = Part(keys, values, timestamps, headers, found, left)
        place, total = 0, len(values)
        while place < total:
            on = next((at for at in self._tries(part, place) if at > place), place)
            if on == place:
                left.append(place)
                on += 1
            place = on
        return found, left

    def _tries(self, part: "Part", place: int) -> Iterator[int]:
        """Up to where each layout reads on; the last one that did is tried first."""
        known = self._layouts.known
        for layout in tuple(known):
            on = self._run(layout, place, part)
            if on > place and layout is not known[0]:
                known.remove(layout)
                known.insert(0, layout)
            yield on
        value = part.values[place]
        learned = None if value is None else self._layouts.learn(value)
        if learned is not None:
            on = self._run(learned, place, part)
            if on == place:
                self._layouts.known.remove(learned)
            yield on

    def _run(  # noqa: C901, PLR0912, PLR0915 - one loop, on purpose: calls cost more than its work
        self, layout: Layout, start: int, part: "Part"
    ) -> int:
        """Reads records by a layout, to the first that it is not sure of; the place of that one."""
        keys, values, headers, timestamps = part.keys, part.values, part.headers, part.timestamps
        found, left = part.found, part.left
        index, ops, texts, majors = found.record, found.op, found.key, found.major
        owns, positions, bests, qualities = found.own, found.position, found.best, found.quality
        tx_ids, scopes, rows, shapes = found.tx_id, found.scope, found.sent, found.shape
        decode, prefix, cut = layout.decode.decode, layout.prefix, len(layout.prefix)
        makers, inferred, unavailable = layout.makers, layout.inferred, self._unavailable
        connector, _, reader, link = READERS[layout.connector]
        if self._wanted is not None and self._wanted is not connector:
            return start
        known = self._keys.known_with(layout.types)
        last_of: object = None
        last_scope = None
        last_name, shape = "", -1
        last_kinds: tuple[type, ...] | None = None
        last_names: tuple[str, ...] = ()
        last_headers: Headers = ()
        for place in range(start, len(values)):
            value, key, heads = values[place], keys[place], headers[place]
            if value is None or key is None:
                left.append(place)
                continue
            if heads != last_headers:
                moving = {name: data for name, data in heads if name in _MOVES}
                if not moving:
                    last_headers = heads
            else:
                moving = {}
            if (b"\\" in value and b"\\u" in value) or b"\\u" in key:
                left.append(place)  # half of a character may be among them
                continue
            try:
                if not value.isascii():
                    value.decode()
                if len(value) > _MOST_DIGITS and _TOO_LONG.search(value):
                    return place  # Python's own parser refuses such a number, wherever it is
                if cut:
                    if not value.startswith(prefix) or not value.endswith(b"}"):
                        return place
                    event = decode(value[cut:-1])
                else:
                    event = decode(value)
                source, op, after = event.source, event.op, event.after
                before = bytes(event.before)
                if source.connector != last_name:
                    if source.connector not in connector.accepts:
                        return place
                    last_name = source.connector
                snapshot = source.snapshot not in _NOT_SNAPSHOT
                if op == "c" and snapshot:
                    op = "r"
                elif op not in _OPS:
                    return place
                if not before.startswith((b"{", b"null")):
                    return place
                text, names, _ = known.get(key) or self._keys.read(key, layout.types)
                partial = False
                if op == "d":
                    cells: tuple[object, ...] = ()
                    shape, last_kinds = self._deleted(layout, before, names), None
                elif after is None:
                    return place
                else:
                    cells = astuple(after)
                    partial = not unavailable.isdisjoint(cells)
                    if partial or makers is not None:
                        cells = layout.cells(cells, unavailable)
                    if inferred:
                        if not fractions_are_clear(cells, inferred):
                            return place
                        kinds = tuple([type(cells[n]) for n in inferred])
                    else:
                        kinds = ()
                    if kinds != last_kinds or names != last_names:
                        last_kinds, last_names = kinds, names
                        shape = layout.shape_of(kinds, names, self.shapes)
                other = None
                if moving and op in _HALVES:
                    other = self._other(moving.get(_HALVES[op]), key, names, layout)
                major, own, position, best, quality, tx_id = reader(source, op == "r", snapshot)
                kafka = timestamps[place] * 1000
                latest = kafka + _TOLERANCE if kafka >= _EARLIEST else _END
                emitted = event.ts_ms
                if not _EARLIEST <= best <= latest or not (
                    emitted is None or _LEAST <= emitted < _MOST
                ):
                    return place
            except _REFUSED:
                return place
            if tx_id is None and event.transaction is not None:
                tx_id = event.transaction.id
            of = (source.name, source.db, source.schema, source.table)
            if of != last_of:
                last_of, last_scope = of, self._scope(of)
            if op == "r" and snapshot and source.snapshot != "incremental":
                found.whole[len(index)] = (emitted, source.name or None)
            if partial:
                found.partial.add(len(index))
            if other is not None:
                found.moved[len(index)] = other, link(source)
            index.append(place)
            ops.append(op)
            texts.append(text)
            majors.append(major)
            owns.append(own)
            positions.append(position)
            bests.append(best)
            qualities.append(quality)
            tx_ids.append(tx_id)
            scopes.append(last_scope)
            rows.append(cells)
            shapes.append(shape)
        return len(values)

    def _other(
        self, data: bytes | None, key: bytes, names: tuple[str, ...], layout: Layout
    ) -> str | None:
        """The other key of a move, where it is written as the record's own is."""
        if data is None:
            return None
        known = self._keys
        if b"\\u" in data or known.is_described(data) != known.is_described(key):
            raise UnclearError
        text, others, _ = known.known.get(data) or known.read(data, layout.types)
        if others != names:
            raise UnclearError
        return text

    def _deleted(self, layout: Layout, old: bytes, key: tuple[str, ...]) -> int:
        if layout.described or old == b"null":
            return layout.deleted({}, key, self.shapes)
        cells = _DELETED.decode(old)
        if not self._unavailable.isdisjoint(cells.values()):
            raise UnclearError
        if not fractions_are_clear(list(cells.values()), range(len(cells))):
            raise UnclearError
        if any(type(cell) is int and not _LEAST <= cell < _MOST for cell in cells.values()):
            raise UnclearError
        return layout.deleted(cells, key, self.shapes)

    def _scope(self, of: tuple[str | None, ...]) -> str | None:
        if of not in self._scopes:
            name, *parts = of
            table = None if not parts[2] else ".".join(part for part in parts if part)
            self._scopes[of] = None if table is None else scope.of(0, name or None, table)
        return self._scopes[of]


@dataclass(frozen=True, slots=True)
class Part:
    """Landed records as columns, and what has been made of them so far."""

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers]
    found: Columns
    left: list[int]


__all__ = ("UNSENT", "Columns", "Shape", "Typed")
