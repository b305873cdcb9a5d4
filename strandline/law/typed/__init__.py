"""The typed decoder: what reads a table's well-formed records, made once for each schema of it.

It accepts what it is sure of, and leaves the rest to the general decoder (`strandline.law.decode`),
which is the meaning: whatever is accepted here, that one reads as the same row
(tests/properties/test_typed_decoder.py). So a strange record costs time, never a value.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from strandline.cells.placeholder import spellings
from strandline.cells.values import UnfitError, UnheldError
from strandline.changes import scope
from strandline.law.decode import NEW_KEY, OLD_KEY, Decoder
from strandline.law.event import EARLIEST, TOLERANCE
from strandline.law.typed.keys import Keys
from strandline.law.typed.layouts import Layout, Layouts, fractions_are_clear
from strandline.law.typed.shapes import Columns, Shape
from strandline.law.typed.sources import READERS, Source, UnclearError

if TYPE_CHECKING:
    from strandline.connectors import Connector

Headers = Sequence[tuple[str, bytes | None]]

_BEGIN = datetime(1970, 1, 1, tzinfo=EARLIEST.tzinfo)
_EARLIEST = int((EARLIEST - _BEGIN).total_seconds()) * 1_000_000
_TOLERANCE = int(TOLERANCE.total_seconds()) * 1_000_000
_END = int((datetime.max.replace(tzinfo=EARLIEST.tzinfo) - _BEGIN).total_seconds()) * 1_000_000
_OPS = frozenset("crud")
_MOVES = frozenset({NEW_KEY, OLD_KEY})
_NOT_SNAPSHOT = (None, False, "false")
_DELETED = msgspec.json.Decoder(dict[str, bool | int | float | str | None])

_REFUSED = (
    UnclearError, UnfitError, UnheldError, msgspec.DecodeError, UnicodeDecodeError, OverflowError,
)  # fmt: skip


class Typed:
    """The typed decoder of one topic; `accepts` False: it leaves everything to the general one."""

    def __init__(self, decoder: Decoder, topic: str, *, accepts: bool = True) -> None:
        """For the records that `decoder` would read of that topic."""
        del topic
        rules = decoder.rules
        # Lineages, keys that are no keys of records, flattened rows, and columns that schema
        # changes describe by their place in the log, are the general decoder's.
        plain = not (rules.key or rules.epochs or rules.flattened or decoder.history)
        self._accepts = accepts and plain
        self._layouts = Layouts(rules.contract)
        self._keys = Keys()
        self._unavailable = spellings(rules.placeholder)
        self._wanted: Connector | None = decoder.connector
        self._scopes: dict[tuple[object, ...], str | None] = {}
        self._last_headers: Headers = ()
        self.shapes: list[Shape] = []

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
        for place, value in enumerate(values):
            key = keys[place]
            if (
                value is None
                or key is None
                or not self._may_be(headers[place])
                or not self._read(place, key, value, timestamps[place], found)
            ):
                left.append(place)
        return found, left

    def _may_be(self, headers: Headers) -> bool:
        """Whether no header says that the row was moved; those of one run are mostly the same."""
        if headers == self._last_headers:
            return True
        if any(name in _MOVES for name, _ in headers):
            return False
        self._last_headers = headers
        return True

    def _read(self, place: int, key: bytes, value: bytes, timestamp: int, found: Columns) -> bool:
        if b"\\u" in value or b"\\u" in key:
            return False  # half of a character may be among them
        for layout in self._layouts.known:
            if value.startswith(layout.prefix):
                try:
                    self._take(layout, place, key, value, timestamp, found)
                except _REFUSED:
                    continue
                if layout is not self._layouts.known[0]:
                    self._layouts.known.remove(layout)
                    self._layouts.known.insert(0, layout)
                return True
        layout_ = self._layouts.learn(value)
        if layout_ is None:
            return False
        try:
            self._take(layout_, place, key, value, timestamp, found)
        except _REFUSED:
            self._layouts.known.remove(layout_)
            return False
        return True

    def _take(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - one record's way, without a call that it can do without
        self, layout: Layout, place: int, key: bytes, value: bytes, timestamp: int, found: Columns
    ) -> None:
        if not value.isascii():
            value.decode()
        if layout.prefix:
            if not value.endswith(b"}"):
                raise UnclearError
            event = layout.decode.decode(value[len(layout.prefix) : -1])
        else:
            event = layout.decode.decode(value)
        source: Source = event.source
        op, after, before = event.op, event.after, bytes(event.before)
        connector, _, reader = READERS[layout.connector]
        if source.connector not in connector.accepts or op not in _OPS:
            raise UnclearError
        if self._wanted is not None and self._wanted is not connector:
            raise UnclearError
        if not before.startswith((b"{", b"null")):
            raise UnclearError
        snapshot = source.snapshot not in _NOT_SNAPSHOT
        if op == "c" and snapshot:
            op = "r"
        known = self._keys.known.get(key) if layout.types is self._keys.types else None
        text, names, _ = known or self._keys.read(key, layout.types)
        if op == "d":
            cells: tuple[object, ...] = ()
            shape = self._deleted(layout, before, names)
        elif after is None:
            raise UnclearError
        else:
            cells = layout.cells(after, self._unavailable)
            if layout.inferred and not fractions_are_clear(cells, layout.inferred):
                raise UnclearError
            shape = layout.shape_of(cells, names, self.shapes)
        major, own, position, quality, tx_id = reader(source, read=op == "r", snapshot=snapshot)
        best = source.ts_us
        if best is None:
            if source.ts_ms is None:
                raise UnclearError
            best = source.ts_ms * 1000
        kafka = timestamp * 1000
        latest = kafka + _TOLERANCE if kafka >= _EARLIEST else _END
        if not _EARLIEST <= best <= latest:
            raise UnclearError
        emitted = event.ts_ms
        if emitted is not None and not -(1 << 63) <= emitted < 1 << 63:
            raise UnclearError
        if tx_id is None and event.transaction is not None:
            tx_id = event.transaction.id
        name = source.name or None
        found.index.append(place)
        found.op.append(op)
        found.key.append(text)
        found.major.append(major)
        found.own.append(own)
        found.position.append(position)
        found.best.append(best)
        found.quality.append(quality)
        found.source_ts.append(best)
        found.tx_id.append(tx_id)
        of = (name, source.db, source.schema, source.table)
        found.scope.append(self._scopes[of] if of in self._scopes else self._scope(of))
        found.emitted.append(emitted)
        found.whole.append(op == "r" and snapshot and source.snapshot != "incremental")
        found.connector_name.append(name)
        found.cells.append(cells)
        found.shape.append(shape)

    def _deleted(self, layout: Layout, old: bytes, key: tuple[str, ...]) -> int:
        if layout.described or old == b"null":
            return layout.deleted({}, key, self.shapes)
        cells = _DELETED.decode(old)
        if not self._unavailable.isdisjoint(cells.values()):
            raise UnclearError
        if not fractions_are_clear(list(cells.values()), range(len(cells))):
            raise UnclearError
        if any(type(cell) is int and not -(1 << 63) <= cell < 1 << 63 for cell in cells.values()):
            raise UnclearError
        return layout.deleted(cells, key, self.shapes)

    def _scope(self, of: tuple[str | None, ...]) -> str | None:
        name, *parts = of
        table = None if not parts[2] else ".".join(part for part in parts if part)
        found = None if table is None else scope.of(0, name, table)
        self._scopes[of] = found
        return found


__all__ = ("Columns", "Headers", "Shape", "Typed")
