"""Turns history rows into a timeline: lanes, bars, moves and fences on an axis of positions.

The axis counts events, it does not measure time: a workload does in a millisecond what it then
does not do for an hour, and order is `_seq`, never a clock. Each column of the axis keeps the time
at which it happened as a label. What is drawn here is data; `timelines.picture` lays it out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from operator import attrgetter

from strandline.changes.columns import (
    CLOSED_BY,
    MOVED_FROM,
    MOVED_TO,
    OP,
    SEQ_FROM,
    SEQ_TO,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
)

Row = Mapping[str, object]


class Opened(StrEnum):
    """What began a version."""

    SNAPSHOT = "snapshot"
    CREATE = "create"
    UPDATE = "update"
    KEY_MOVE = "key_move"


@dataclass(frozen=True, slots=True)
class Bar:
    """One version on its lane, in columns `[start, end)`; `end` None is an open version.

    `before` is the version that it followed, on its own key or, where a row moved, on another one.
    """

    lane: int
    start: int
    end: int | None
    opened: Opened
    closed_by: str | None
    news: tuple[tuple[str, object], ...]
    row: Row
    before: Row | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A row that took another key: it left one lane and went on in another, at one column."""

    column: int
    from_lane: int
    to_lane: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The histories of some keys of one table. `ticks` holds the time of each column."""

    table: str
    lanes: tuple[str, ...]
    ticks: tuple[str, ...]
    bars: tuple[Bar, ...]
    moves: tuple[Move, ...]
    fences: tuple[int, ...]

    @property
    def columns(self) -> int:
        """How many columns the axis has."""
        return len(self.ticks)


def timeline(rows: Iterable[Row], key: Sequence[str]) -> Timeline:
    """The timeline of history rows of one table, whose key columns are `key`."""
    versions = _linked(sorted((_Version(row, tuple(key)) for row in rows), key=_order))
    axis = _Axis.of(versions)
    lanes = _lanes(versions, axis)
    bars = tuple(_bar(version, versions, axis, lanes) for version in versions)
    return Timeline(
        table=str(versions[0].row["_table"]) if versions else "",
        lanes=tuple(lanes),
        ticks=axis.ticks,
        bars=bars,
        moves=tuple(
            Move(axis.column(version.start), lanes[version.moved_from.key], lanes[version.key])
            for version in versions
            if version.moved_from
        ),
        fences=tuple(sorted({bar.end for bar in bars if bar.closed_by == "truncate" and bar.end})),
    )


def related(rows: Iterable[Row], key: Sequence[str], value: Mapping[str, object]) -> list[Row]:
    """The rows of a key and of every key that rows moved to or from, however far."""
    versions = [_Version(row, tuple(key)) for row in rows]
    wanted: set[str] = {_label(value)}
    while True:
        reached = wanted.union(
            *(version.neighbours for version in versions if version.key in wanted)
        )
        if reached == wanted:
            return [version.row for version in versions if version.key in wanted]
        wanted = reached


@dataclass(frozen=True, slots=True)
class _Version:
    """A history row with what the drawing asks of it.

    `end` is where the successor begins when the row moved: the two halves of a move have two
    positions in the log and are one event to a reader.
    """

    row: Row
    columns: tuple[str, ...]
    moved_to: str | None = None
    moved_from: "_Version | None" = None

    @property
    def key(self) -> str:
        return _label({column: self.row.get(column) for column in self.columns})

    @property
    def rank(self) -> tuple[tuple[bool, object], ...]:
        """Sorts keys of numbers as numbers; a column's values have one type, or come as text."""
        values = (self.row.get(column) for column in self.columns)
        return tuple(
            (True, value) if isinstance(value, int | float) else (False, str(value))
            for value in values
        )

    @property
    def start(self) -> str:
        return str(self.row[SEQ_FROM])

    @property
    def end(self) -> str | None:
        end = self.moved_to or self.row[SEQ_TO]
        return None if end is None else str(end)

    @property
    def opened(self) -> Opened:
        return opened_by(self.row)

    @property
    def neighbours(self) -> set[str]:
        texts = (self.row[MOVED_FROM], self.row[MOVED_TO])
        return {_label(json.loads(str(text))) for text in texts if text}

    def values(self) -> dict[str, object]:
        return {
            name: value
            for name, value in self.row.items()
            if not name.startswith("_") and name not in self.columns
        }


_order = attrgetter("start")


def _label(key: Mapping[str, object]) -> str:
    return " · ".join(str(value) for value in key.values())


def _linked(versions: list[_Version]) -> list[_Version]:
    """The versions, those that a move joins knowing of each other."""
    linked = list(versions)
    for index, version in enumerate(versions):
        origin = _origin(linked, index) if version.row[MOVED_FROM] else None
        if origin is not None:
            linked[origin] = replace(linked[origin], moved_to=version.start)
            linked[index] = replace(linked[index], moved_from=linked[origin])
    return linked


def _origin(versions: list[_Version], index: int) -> int | None:
    """The last version before this one that left for this one's key."""
    arrived = versions[index]
    left = _label(json.loads(str(arrived.row[MOVED_FROM])))
    for candidate in range(index - 1, -1, -1):
        version = versions[candidate]
        target = version.row[MOVED_TO]
        if version.key == left and target and _label(json.loads(str(target))) == arrived.key:
            return candidate if version.moved_to is None else None
    return None


def _lanes(versions: list[_Version], axis: "_Axis") -> dict[str, int]:
    """A lane per key, by first appearance, then by key; where a row moved to stands below it."""
    order: list[str] = []
    for version in sorted(versions, key=lambda version: (axis.column(version.start), version.rank)):
        if version.key in order:
            continue
        origin = version.moved_from.key if version.moved_from else None
        below = order.index(origin) + 1 if origin in order else len(order)
        order.insert(below, version.key)
    return {key: lane for lane, key in enumerate(order)}


@dataclass(frozen=True, slots=True)
class _Event:
    position: str
    time: str
    lane: str
    snapshot: bool


@dataclass(frozen=True, slots=True)
class _Axis:
    columns: Mapping[str, int]
    ticks: tuple[str, ...]

    @staticmethod
    def of(versions: Iterable[_Version]) -> "_Axis":
        events = sorted(_events(versions), key=attrgetter("position"))
        columns: dict[str, int] = {}
        ticks: list[str] = []
        shared: set[str] = set()
        for position, group in groupby(events, key=attrgetter("position")):
            happened = list(group)
            lanes = {event.lane for event in happened}
            # A snapshot reads row by row; what it read belongs together until a key comes again.
            together = all(event.snapshot for event in happened) and not lanes & shared
            if not (together and shared):
                ticks.append(happened[0].time)
            shared = shared | lanes if together else set()
            columns[position] = len(ticks) - 1
        return _Axis(columns, tuple(ticks))

    def column(self, position: str) -> int:
        return self.columns[position]


def _events(versions: Iterable[_Version]) -> Iterable[_Event]:
    for version in versions:
        snapshot = version.opened is Opened.SNAPSHOT
        yield _Event(version.start, str(version.row[VALID_FROM]), version.key, snapshot)
        if version.end is not None:
            yield _Event(version.end, str(version.row[VALID_TO]), version.key, snapshot=False)


def _bar(version: _Version, versions: list[_Version], axis: _Axis, lanes: Mapping[str, int]) -> Bar:
    closed_by = version.row[CLOSED_BY]
    before = version.moved_from or _predecessor(version, versions)
    return Bar(
        lane=lanes[version.key],
        start=axis.column(version.start),
        end=None if version.end is None else axis.column(version.end),
        opened=version.opened,
        closed_by=None if closed_by is None else str(closed_by),
        news=tuple(_news(version, before)),
        row=version.row,
        before=None if before is None else before.row,
    )


def opened_by(row: Row) -> Opened:
    """What began a version."""
    if row[MOVED_FROM]:
        return Opened.KEY_MOVE
    return {"r": Opened.SNAPSHOT, "c": Opened.CREATE}.get(str(row[OP]), Opened.UPDATE)


def is_unsent(row: Row, name: str) -> bool:
    """Whether the source has never sent the cell, which is NULL for want of a value."""
    unsent = row.get(UNAVAILABLE)
    return row.get(name) is None and isinstance(unsent, list) and name in unsent


def _news(version: _Version, before: _Version | None) -> Iterable[tuple[str, object]]:
    """What a reader did not know yet: what this version changed, or all that it began with."""
    values, row = version.values(), version.row
    if before is None:
        return [each for each in values.items() if each[1] is not None or is_unsent(row, each[0])]
    old = before.values()
    return [(name, value) for name, value in values.items() if old.get(name) != value]


def _predecessor(version: _Version, versions: list[_Version]) -> _Version | None:
    return next(
        (other for other in versions if other.key == version.key and other.end == version.start),
        None,
    )
