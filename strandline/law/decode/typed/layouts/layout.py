"""A layout: one way in which a topic's values are written, whatever the format."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strandline.cells.types import ColumnType
from strandline.law.decode.typed.cells import INFERRED, Make
from strandline.law.decode.typed.fields import Fields
from strandline.law.decode.typed.images import Images, images
from strandline.law.decode.typed.shapes import Shape
from strandline.law.decode.typed.sources import READERS


@dataclass(slots=True)
class Layout(ABC):
    """How values are written.

    `names` are the row's columns, `types` what is declared of them; `described`: by a schema that
    the record brings or names. `makers` make the values of columns whose cells are none by
    themselves. `inferred` are the places of columns of JSON's own types. `shapes` are the numbers
    of its shapes by the classes of cells and by the columns of the key.
    """

    names: tuple[str, ...]
    types: Mapping[str, ColumnType]
    described: bool
    connector: str
    makers: tuple[Make | None, ...]
    inferred: tuple[int, ...] = ()
    shapes: dict[Any, int] = field(default_factory=dict)

    @abstractmethod
    def events(self, values: Sequence[bytes]) -> tuple[list[Any], list[int]]:
        """The envelopes of values, and the numbers of those that are written in another way."""

    @abstractmethod
    def fields(self, events: Sequence[Any]) -> Fields:
        """What envelopes say; the column `after` has the cells of a row, None where there is none.

        The fields are `op`, `ts_ms`, `after`, `transaction.id` and those of the connector's
        `Source`. Raises `RefusedError` where something is for the general decoder.
        """

    @abstractmethod
    def before(self, value: bytes, unavailable: frozenset[str]) -> Mapping[str, Any]:
        """What tells of a delete's types: its `before`, where no schema does."""

    def images(self, rows: Sequence[tuple[Any, ...]], unavailable: frozenset[str]) -> Images:
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
