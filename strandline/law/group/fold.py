"""Stage 5, fold: lives become versions.

Values: a column that was not sent keeps the last known value of the row, also across a key move
(docs/facts/order.md, "Partial images"); an image equal to the standing one makes no version. Times:
the best time of the opening change, never before anything the key has shown (docs/facts/order.md,
"Times").
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from strandline.cells import documents
from strandline.cells.types import ANY, Dialect
from strandline.changes.change import Change, Fence, Op
from strandline.changes.position import Position
from strandline.changes.version import ClosedBy, TimeQuality, Version
from strandline.law.group.link import Life, Linked


@dataclass(frozen=True, slots=True)
class Image:
    """A row as it stood after `change`, completed; `unavailable` lists what nobody ever sent."""

    change: Change
    row: dict[str, object]
    unavailable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The business columns in their order; those that make versions; those that hold JSON."""

    columns: tuple[str, ...]
    tracked: tuple[str, ...]
    json: frozenset[str] = frozenset()
    dialect: Dialect = ANY

    def alike(self, one: Image, other: Image) -> bool:
        """Whether an image makes no version after another."""
        return self._missing(one) == self._missing(other) and all(
            self.same(name, one.row[name], other.row[name]) for name in self.tracked
        )

    def _missing(self, image: Image) -> list[str]:
        return [name for name in image.unavailable if name in self.tracked]

    def same(self, name: str, one: object, other: object) -> bool:
        """Whether two values of a column are one: NaN is itself, documents go by their value."""
        if one == other:
            return True
        if name in self.json and isinstance(one, str) and isinstance(other, str):
            return documents.alike(one, other, self.dialect)
        return is_nan(one) and is_nan(other)


def is_nan(value: object) -> bool:
    """Whether it is no number, which equals nothing in Python and itself in a history."""
    return isinstance(value, float) and math.isnan(value)


def fold(linked: Linked, shape: Shape, recorded_at: datetime) -> list[Version]:
    """The history of one table, ordered by key and position."""
    completed: dict[int, list[Image]] = {}
    for lives in linked.lives.values():
        for life in lives:
            _complete(life, shape, completed)
    return [
        version
        for key in sorted(linked.lives)
        for version in _versions(linked.lives[key], completed, recorded_at)
    ]


def _complete(life: Life, shape: Shape, done: dict[int, list[Image]]) -> list[Image]:
    """The life's distinct images with every column filled; parents first."""
    lineage = [life]
    while lineage[-1].parent is not None and id(lineage[-1]) not in done:
        lineage.append(lineage[-1].parent)
    for each in reversed(lineage):
        if id(each) not in done:
            inherited = done[id(each.parent)] if each.parent is not None else []
            done[id(each)] = _images(each, shape, inherited[-1] if inherited else None)
    return done[id(life)]


def _images(life: Life, shape: Shape, base: Image | None) -> list[Image]:
    """The images that make versions; a change of ignored columns alone overwrites them."""
    made: list[Image] = []
    standing = base
    for change in life.images:
        standing = _filled(change, shape.columns, standing)
        if made and shape.alike(made[-1], standing):
            if len(shape.tracked) < len(shape.columns):
                made[-1] = replace(made[-1], row=standing.row, unavailable=standing.unavailable)
        else:
            made.append(standing)
    return made


def _filled(change: Change, columns: Sequence[str], base: Image | None) -> Image:
    sent = change.row or {}
    row = {name: sent.get(name) for name in columns}
    unavailable = []
    for name in columns:
        if name in change.unset:
            if base is not None:
                row[name] = base.row[name]
            if base is None or name in base.unavailable:
                unavailable.append(name)
        elif name in change.unheld:
            unavailable.append(name)
    return Image(change, row, tuple(unavailable))


def _versions(
    lives: Sequence[Life], completed: dict[int, list[Image]], recorded_at: datetime
) -> Iterator[Version]:
    floor: datetime | None = None
    for life in lives:
        images = completed[id(life)]
        for number, image in enumerate(images):
            following = images[number + 1].change if number + 1 < len(images) else life.end
            valid_from = _clamped(image.change.time.best, floor)
            valid_to = None if following is None else _clamped(following.time.best, valid_from)
            floor = valid_to or valid_from
            yield _version(life, image, following, valid_from, valid_to, recorded_at)


def _clamped(time: datetime, floor: datetime | None) -> datetime:
    return time if floor is None else max(time, floor)


def _version(  # noqa: PLR0913, PLR0917 - the six facts that make a row
    life: Life,
    image: Image,
    following: Change | Fence | None,
    valid_from: datetime,
    valid_to: datetime | None,
    recorded_at: datetime,
) -> Version:
    change = image.change
    clamped = valid_from > change.time.best
    position = change.position or Position("", "", "")
    moved = isinstance(following, Change) and following is life.end
    return Version(
        key=life.key,
        row=image.row,
        valid_from=valid_from,
        valid_to=valid_to,
        seq_from=change.seq,
        seq_to=None if following is None else following.seq,
        position=position.text,
        op=change.op,
        closed_by=_closed_by(following),
        moved_from=change.moved_from,
        moved_to=following.moved_to if moved and isinstance(following, Change) else None,
        entity_id=life.entity_id,
        tx_id=change.tx_id,
        source_ts=change.time.source,
        ts_quality=TimeQuality.CLAMPED if clamped else change.time.quality,
        topic=change.at.topic,
        partition=change.at.partition,
        offset=change.at.offset,
        recorded_at=recorded_at,
        unavailable=image.unavailable,
    )


def _closed_by(following: Change | Fence | None) -> ClosedBy | None:
    match following:
        case None:
            return None
        case Fence(sweep=True):
            return ClosedBy.SNAPSHOT_ABSENT
        case Fence():
            return ClosedBy.TRUNCATE
        case Change(op=Op.ABSENT):
            return ClosedBy.SNAPSHOT_ABSENT
        case Change(op=Op.DELETE, moved_to=None):
            return ClosedBy.DELETE
        case Change(op=Op.TOMBSTONE, moved_to=None):
            return ClosedBy.TOMBSTONE
        case Change(op=Op.DELETE | Op.TOMBSTONE):
            return ClosedBy.KEY_MOVE
        case Change(op=Op.READ):
            return ClosedBy.SNAPSHOT_CORRECTION
        case _:
            return ClosedBy.UPDATE
