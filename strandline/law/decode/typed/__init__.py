"""The typed decoder: what reads a table's well-formed records, made once for each schema of it.

It accepts what it is sure of, and leaves the rest to `strandline.law.decode.general`, which is the
meaning: whatever is accepted here, that one reads as the same row
(tests/properties/test_typed_decoder.py). So a strange record costs time, never a value.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from strandline.cells.placeholder import spellings
from strandline.law.decode.general import Decoder
from strandline.law.decode.typed.keys import Keys
from strandline.law.decode.typed.layouts import Layout, Layouts
from strandline.law.decode.typed.rows import Batch, Reader
from strandline.law.decode.typed.shapes import UNSENT, Columns, Shape
from strandline.law.decode.typed.sources import READERS
from strandline.law.landed import Headers

if TYPE_CHECKING:
    from strandline.connectors import Connector

_AT_ONCE = 500  # records, so that the columns of them are small


class Typed:
    """The typed decoder of one topic; `accepts` False: it leaves everything to the general one."""

    def __init__(self, decoder: Decoder, *, accepts: bool = True) -> None:
        """For the records that `decoder` would read of its topic."""
        rules = decoder.rules
        # Lineages, keys that are no keys of records, flattened rows, columns that schema changes
        # describe by their place in the log, that only snapshots read or that have another name
        # here, are the general decoder's.
        special = (rules.key, rules.epochs, rules.flattened, rules.never_streamed, rules.rename)
        plain = not (any(special) or decoder.history)
        self._asked, self._accepts = accepts, accepts and plain
        self._layouts = Layouts(rules, decoder.formats)
        self._reader = Reader(spellings(rules.placeholder), Keys(decoder.formats))
        self._wanted: Connector | None = decoder.connector

    @property
    def shapes(self) -> Sequence[Shape]:
        """The shapes of all rows so far, by their numbers."""
        return self._reader.shapes

    def anew(self, decoder: Decoder) -> "Typed":
        """One for the same topic, which knows nothing yet."""
        return Typed(decoder, accepts=self._asked)

    def is_plain_key(self, key: bytes | None) -> bool:
        """Whether a tombstone with these bytes is of the row whose key was read from them."""
        return self._reader.keys.is_plain(key)

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
        for start in range(0, len(keys), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            batch = Batch.of(start, keys[part], values[part], timestamps[part], headers[part])
            read = self._read(batch)
            found.extend(read)
            left += sorted(set(range(len(keys))[part]).difference(read.record))
        return found, left

    def _read(self, batch: Batch) -> Columns:
        """The changes among records that each have a key and a value."""
        found = Columns()
        for layout in tuple(self._layouts.known):
            batch = self._read_by(layout, batch, found)
        while batch and not self._layouts.is_full:
            first, learned = batch.place[0], self._layouts.learn(batch.value[0])
            if learned is not None:
                batch = self._read_by(learned, batch, found)
                if batch and batch.place[0] == first:
                    self._layouts.known.remove(learned)
            if batch and batch.place[0] == first:
                batch = batch.only(range(1, len(batch)))
        return found.in_order()

    def _read_by(self, layout: Layout, batch: Batch, found: Columns) -> Batch:
        """Adds what a layout reads; the records that it does not."""
        if not batch or self._wanted not in {None, READERS[layout.connector][0]}:
            return batch
        read, others = self._reader.read(layout, batch)
        found.extend(read)
        if len(others) < len(batch) / 2:
            self._layouts.prefer(layout)
        return batch.only(others)


__all__ = ("UNSENT", "Columns", "Shape", "Typed")
