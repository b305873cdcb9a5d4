"""The versions of a table, in order of key and position, made when somebody asks for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, overload

from strandline.cells.instants import instant, micros
from strandline.cells.types import ColumnType
from strandline.changes.version import ClosedBy, TimeQuality, Version
from strandline.law.plain.fold import (
    CELLS,
    CLOSED_BY,
    ENTITY,
    OPENED,
    QUALITY,
    SEQ_FROM,
    SEQ_TO,
    VALID_FROM,
    VALID_TO,
    Made,
    Standing,
)
from strandline.law.plain.keys import PlainKeys
from strandline.law.plain.rows import Rows

# Where the fold has what a version says, and what it says of the row that opened it.
VERSION_OF = {
    "valid_from": VALID_FROM, "valid_to": VALID_TO, "seq_from": SEQ_FROM, "seq_to": SEQ_TO,
    "closed_by": CLOSED_BY, "entity_id": ENTITY, "ts_quality": QUALITY,
}  # fmt: skip
ROW_OF = {
    "position": "position", "op": "op", "tx_id": "tx_id", "source_ts": "best",
    "partition": "partition", "offset": "offset",
}  # fmt: skip

# What a version says, but for its row, its topic and when it was recorded.
FIELDS = tuple(of.name for of in fields(Version) if of.name not in {"row", "topic", "recorded_at"})


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
        self._standing = plain.standing
        self._rows = plain.rows
        self._targets = targets(plain.standing) if plain.rows.moved else {}
        self._names = tuple(columns)
        self._topic = topic
        self.recorded_at = recorded_at

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

    __hash__ = None  # type: ignore[assignment] # as of every list, by what is in it

    def __repr__(self) -> str:
        return repr(self._all)

    @property
    def current(self) -> int:
        """How many are open."""
        groups = sum(v.seq_to is None for own in self._groups.values() for v in own)
        return groups + sum(bool(own) and own[-1][SEQ_TO] is None for own in self._plain.values())

    @property
    def keys(self) -> frozenset[str]:
        """Those that have a version."""
        own = {key for key, made in self._plain.items() if made}
        return frozenset(own | {key for key, made in self._groups.items() if made})

    def standing(self, key: str) -> Standing | None:
        """What stands of a plain key; None of any other."""
        return self._standing.get(key)

    def columns(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Version's fields but `row`, and the business columns: a list of each, in the same order.

        Instants are microseconds since 1970 here; what is said by a class elsewhere is its text.
        """
        plain = ((key, made) for key, own in self._plain.items() for made in own)
        found, business = as_columns(plain, self._rows, self._names, self._targets)
        found["topic"] = [self._topic] * len(found["key"])
        for key in self._groups:
            for version in self._of(key):
                for name, values in found.items():
                    values.append(_plainly(getattr(version, name)))
                for name, values in business.items():
                    values.append(version.row[name])
        return found, business

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
            moved_from=rows.moved[n][0] if n in rows.moved else None,
            moved_to=self._targets.get((key, ended)),
            entity_id=entity,
            tx_id=rows.tx_id[n],
            source_ts=instant(rows.best[n]),
            ts_quality=TimeQuality(quality),
            topic=self._topic,
            partition=rows.partition[n],
            offset=rows.offset[n],
            recorded_at=self.recorded_at,
        )


# The key that a row moved to, by the key that it left and the position at which it did.
Targets = Mapping[tuple[str, str | None], str]


def targets(standing: Mapping[str, Standing]) -> Targets:
    """Where rows of plain keys went."""
    return {
        (key, of.versions[place][SEQ_TO]): other
        for key, of in standing.items()
        for (other, _), place in of.departures.items()
        if place is not None
    }


def as_columns(
    versions: Iterable[tuple[str, Made]], rows: Rows, names: Sequence[str], targets: Targets
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The versions of plain keys as `Versions.columns` has them; `names` are those of the cells."""
    made = list(versions)
    numbers = [each[OPENED] for _, each in made]
    cells = list(zip(*[each[CELLS] for _, each in made], strict=True))
    said: dict[str, list[Any]] = {"key": [key for key, _ in made]}
    for name, place in VERSION_OF.items():
        said[name] = [each[place] for _, each in made]
    for name, own in ROW_OF.items():
        values = getattr(rows, own)
        said[name] = [values[n] for n in numbers]
    moved = rows.moved
    said["moved_from"] = [moved[n][0] if n in moved else None for n in numbers]
    said["moved_to"] = [targets.get((key, each[SEQ_TO])) for key, each in made]
    said["unavailable"] = [()] * len(made)
    return said, {name: list(cells[n]) if cells else [] for n, name in enumerate(names)}


def _plainly(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    return str(value) if isinstance(value, StrEnum) else value
