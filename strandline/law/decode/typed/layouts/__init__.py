"""Layouts: how the records of one schema are written, learned from the first of them.

A layout is made once, from a record that the general decoder's own parser has read, and then reads
others like it.
"""

from dataclasses import dataclass, field

import msgspec

from strandline.changes.rules import TableRules
from strandline.errors import UndecodableError
from strandline.formats.reading import Formats
from strandline.law.decode.typed.layouts import avro, documents
from strandline.law.decode.typed.layouts.layout import Layout
from strandline.law.decode.typed.layouts.text import unclear
from strandline.law.decode.typed.refusal import UnclearError

_TRIES = 64  # values of a topic that layouts are learned from; others are for the general decoder


@dataclass(slots=True)
class Layouts:
    """The layouts of a topic, the one that was of use last first."""

    rules: TableRules
    formats: Formats
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
        try:
            layout = self._learned(value)
        except (
            UnclearError, UndecodableError, ValueError, RecursionError, TypeError,
            msgspec.ValidationError,
        ):  # fmt: skip
            return None  # the general decoder says what is wrong with it
        self.known.insert(0, layout)
        return layout

    def _learned(self, value: bytes) -> Layout:
        written = self.formats.written_value(value)
        if written is None and unclear([value]):
            raise UnclearError
        self.tried += 1
        if written is None:
            return documents.learned(value, self.rules)
        return avro.learned(written)


__all__ = ("Layout", "Layouts")
