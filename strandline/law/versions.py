"""The versions of a table, in order of key and position, made when somebody asks for them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import overload

from strandline.cells.types import ColumnType
from strandline.changes.version import ClosedBy, TimeQuality, Version
from strandline.law.plain import Made, instant
from strandline.law.plain_keys import PlainKeys


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
        if len(version.row) != len(self._names):
            version.row.update((n, None) for n in self._names if n not in version.row)
        return version

    def _version(self, key: str, made: Made) -> Version:
        n, cells, since, until, began, ended, how, entity, quality = made
        rows = self._rows
        source = rows.source_ts[n]
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
            moved_from=None,
            moved_to=None,
            entity_id=entity,
            tx_id=rows.tx_id[n],
            source_ts=None if source is None else instant(source),
            ts_quality=TimeQuality(quality),
            topic=self._topic,
            partition=rows.partition[n],
            offset=rows.offset[n],
            recorded_at=self._recorded_at,
        )
