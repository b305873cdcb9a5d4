"""The versions of a table, in order of key and position, made when somebody asks for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, overload

from strandline.cells.types import ColumnType
from strandline.changes.version import ClosedBy, TimeQuality, Version
from strandline.law.plain.fold import Made, instant, micros
from strandline.law.plain.keys import PlainKeys
from strandline.law.plain.rows import Rows

# Where the fold has what a version says, and what it says of the row that opened it.
_PLACES = {
    "valid_from": 2, "valid_to": 3, "seq_from": 4, "seq_to": 5, "closed_by": 6, "entity_id": 7,
    "ts_quality": 8,
}  # fmt: skip
_OF_ROW = {
    "position": "position", "op": "op", "tx_id": "tx_id", "source_ts": "best",
    "partition": "partition", "offset": "offset",
}  # fmt: skip


class Versions(Sequence[Version]):
    """Those of groups, and those of plain keys, which are columns until then."""

    def __init__(
        self,
        groups: Mapping[str, Sequence[Version]],
        plain: PlainKeys,
        columns: Mapping[str, ColumnType],
        topic: str,
        recorded_at: datetime,
    ) -> None:
        self._groups = groups
        self._plain = {key: plain.made(key) for key in plain.standing}
        self._rows = plain.rows
        self._targets = {
            (key, of.versions[place][5]): other
            for key, of in plain.standing.items()
            for (other, _), place in of.departures.items()
            if place is not None
        }
        self._names = tuple(columns)
        self._topic = topic
        self._recorded_at = recorded_at

    @overload
    def __getitem__(self, place: int) -> Version: ...
    @overload
    def __getitem__(self, place: slice) -> list[Version]: ...
    def __getitem__(self, place: int | slice) -> Version | list[Version]:
        return self._all[place]

    def __len__(self) -> int:
        own = sum(map(len, self._plain.values()))
        return own + sum(map(len, self._groups.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == list(other)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return repr(self._all)

    @property
    def current(self) -> int:
        """How many are open."""
        groups = sum(v.seq_to is None for own in self._groups.values() for v in own)
        return groups + sum(bool(own) and own[-1][5] is None for own in self._plain.values())

    def columns(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Version's fields but `row`, and the business columns: a list of each, in the same order.

        Instants are microseconds since 1970 here; what is said by a class elsewhere is its text.
        """
        plain = ((key, made) for key, own in self._plain.items() for made in own)
        fields, business = as_columns(plain, self._rows, self._names)
        if self._rows.moved:
            fields["moved_from"] = [
                self._origin(made[0]) for own in self._plain.values() for made in own
            ]
            fields["moved_to"] = [
                self._targets.get((key, made[5]))
                for key, own in self._plain.items()
                for made in own
            ]
        for key in self._groups:
            for version in self._of(key):
                for name, values in fields.items():
                    values.append(_plainly(getattr(version, name)))
                for name, values in business.items():
                    values.append(version.row[name])
        return fields, business

    @cached_property
    def _all(self) -> list[Version]:
        keys = sorted(self._groups.keys() | self._plain.keys())
        return [version for key in keys for version in self._of(key)]

    def _of(self, key: str) -> Iterator[Version]:
        if key in self._plain:
            yield from (self._version(key, made) for made in self._plain[key])
        else:
            yield from map(self._with_columns, self._groups[key])

    def _with_columns(self, version: Version) -> Version:
        """With NULL in columns that came after it."""
        row = version.row
        if len(row) != len(self._names):
            cells = {name: row.get(name) for name in self._names}
            row.clear()
            row.update(cells)
        return version

    def _origin(self, n: int) -> str | None:
        """The key that a row moved from, by the row that opened its version."""
        moved = self._rows.moved.get(n)
        return None if moved is None else moved[0]

    def _version(self, key: str, made: Made) -> Version:
        n, cells, since, until, began, ended, how, entity, quality = made
        rows = self._rows
        return Version(
            key=key,
            row=dict(zip(self._names, cells, strict=True)),
            valid_from=instant(since),
            valid_to=None if until is None else instant(until),
            seq_from=began,
            seq_to=ended,
            position=rows.position[n],
            op=rows.op[n],
            closed_by=None if how is None else ClosedBy(how),
            moved_from=self._origin(n),
            moved_to=self._targets.get((key, ended)),
            entity_id=entity,
            tx_id=rows.tx_id[n],
            source_ts=instant(rows.best[n]),
            ts_quality=TimeQuality(quality),
            topic=self._topic,
            partition=rows.partition[n],
            offset=rows.offset[n],
            recorded_at=self._recorded_at,
        )


def as_columns(
    versions: Iterable[tuple[str, Made]], rows: Rows, names: Sequence[str]
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The versions of plain keys as `Versions.columns` has them; `names` are those of the cells."""
    made = list(versions)
    numbers = [each[0] for _, each in made]
    cells = list(zip(*[each[1] for _, each in made], strict=True))
    fields: dict[str, list[Any]] = {"key": [key for key, _ in made]}
    for name, place in _PLACES.items():
        fields[name] = [each[place] for _, each in made]
    for name, own in _OF_ROW.items():
        values = getattr(rows, own)
        fields[name] = [values[n] for n in numbers]
    fields |= {name: [None] * len(made) for name in ("moved_from", "moved_to")}
    fields["unavailable"] = [()] * len(made)
    return fields, {name: list(cells[n]) if cells else [] for n, name in enumerate(names)}


def _plainly(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    return str(value) if isinstance(value, StrEnum) else value
