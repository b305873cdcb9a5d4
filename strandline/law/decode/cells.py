"""Part of stage 1: the cells of a record in their types, and the keys that they make."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from strandline.cells import documents, modes, values
from strandline.cells.inference import json_type
from strandline.cells.spelling import Number
from strandline.cells.types import ColumnType, Dialect
from strandline.changes.key import canonical
from strandline.errors import UndecodableError


@dataclass(frozen=True, slots=True)
class Row:
    """The typed cells that were sent; which columns were not, or could not be held; their types.

    `types` are those that only the values show.
    """

    cells: dict[str, object]
    unset: frozenset[str]
    unheld: frozenset[str]
    types: dict[str, ColumnType]

    def without(self, names: Iterable[str]) -> "Row":
        """The same, where these columns are never sent: a NULL of theirs, or none, says nothing."""
        unknown = frozenset(name for name in names if self.cells.get(name) is None)
        return replace(self, unset=self.unset - unknown, unheld=self.unheld | unknown)


NO_ROW = Row({}, frozenset(), frozenset(), {})


def key_of(cells: Mapping[str, Any], types: Mapping[str, ColumnType], what: str) -> str:
    """The canonical key; `UndecodableError` where a cell of `what` is null or none of its type."""
    for name, value in cells.items():
        if value is None:
            raise UndecodableError("no_key", f"{what}.{name} is null, which identifies no row")
    return canonical(
        {name: _cell(value, types.get(name), f"{what}.{name}") for name, value in cells.items()}
    )


def _cell(value: Any, of: ColumnType | None, what: str) -> object:
    """A value of a key: one that its type cannot hold identifies nothing."""
    try:
        return values.decode(value, of or json_type(value))
    except (values.UnfitError, values.UnheldError) as error:
        raise _bad_value(value, of, what) from error


def _bad_value(value: Any, of: ColumnType | None, what: str) -> UndecodableError:
    of = of or json_type(value)
    return UndecodableError("bad_value", f"{what} is no {of.spark}{modes.remedy(of)}")


def typed(
    sent: Mapping[str, Any],
    types: Mapping[str, ColumnType],
    left_out: frozenset[str],
    unavailable: frozenset[str],
) -> Row:
    """The typed cells that were sent; the columns that were not: TOAST, LOBs, partial images."""
    row = Row({}, left_out, frozenset(), {})
    unset, unheld = set(left_out), set()
    for name, value in sent.items():
        if value is None:
            row.cells[name] = None
            continue
        if is_placeholder(value, unavailable):
            unset.add(name)
            continue
        of = types.get(name)
        if of is None:
            of = row.types[name] = json_type(value)
        try:
            row.cells[name] = values.decode(value, of)
        except values.UnheldError:
            row.cells[name] = None
            unheld.add(name)
        except values.UnfitError as error:
            raise _bad_value(value, of, f"after.{name}") from error
    return Row(row.cells, frozenset(unset), frozenset(unheld), row.types)


def shown_types(
    old: Mapping[str, Any], types: Mapping[str, ColumnType], unavailable: frozenset[str]
) -> Mapping[str, ColumnType]:
    """What the values of a deleted row say of columns that nobody declared."""
    return {
        name: json_type(value)
        for name, value in old.items()
        if name not in types and value is not None and not is_placeholder(value, unavailable)
    }


def is_placeholder(value: Any, unavailable: frozenset[str]) -> bool:
    """Whether a cell says that its value was not available."""
    if isinstance(value, str):
        return value in unavailable
    return isinstance(value, dict | list) and values.compact(value) in unavailable


@dataclass(frozen=True, slots=True)
class Documents:
    """The columns of a row that hold JSON as text, and the dialect of their database."""

    columns: Sequence[str]
    dialect: Dialect

    def by_value(self, cells: Mapping[str, Any]) -> Mapping[str, Any]:
        """The cells with these documents in the one form of their value."""
        texts = [name for name in self.columns if isinstance(cells.get(name), str)]
        if not texts:
            return cells
        return {**cells, **{n: documents.comparable(cells[n], self.dialect) for n in texts}}


def content(cells: Mapping[str, Any]) -> str:
    """An image as text that compares; a column that is NULL is as good as one that is not there."""
    return _CONTENT.encode({n: cells[n] for n in sorted(cells) if cells[n] is not None})


def _spelled(number: Number) -> list[str]:
    return ["number", number.text]


_CONTENT = json.JSONEncoder(default=_spelled)
