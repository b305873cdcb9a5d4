"""Part of stage 3: which of several equal changes at one position happened, and which came again.

With MySQL's compressed transactions, or Oracle without `txSeq`, changes share a position, and the
same content can genuinely occur twice in one transaction. Decided per partition and only for a
change whose identity was seen before, by ordering-notes §2: an ordinal settles it (it is part of
the identity), a position that is not shared settles it, a rewind settles it; what is left is
genuine where its `before` is the row that stands.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from strandline.change import Change, Op
from strandline.position import major_of
from strandline.record import Coordinates


def genuine(changes: Collection[Change]) -> frozenset[Coordinates]:
    """Where the changes stand that look like a second delivery and are none."""
    rows = [c for c in changes if c.op is not Op.TOMBSTONE]
    candidates = _repeated(rows) & _shared(rows)
    if not candidates:
        return frozenset()
    partitions: dict[int, list[Change]] = defaultdict(list)
    for change in rows:
        partitions[change.at.partition].append(change)
    return frozenset(
        at
        for partition in partitions.values()
        for at in _Partition(candidates).genuine(sorted(partition, key=lambda c: c.at.offset))
    )


def _place(change: Change) -> tuple[object, ...]:
    """What should be one change's own: position and the finer fields."""
    link = change.position.link if change.position is not None else ""
    return (major_of(change.seq), link)


def _repeated(rows: Iterable[Change]) -> set[tuple[object, ...]]:
    seen: set[tuple[object, ...]] = set()
    again: set[tuple[object, ...]] = set()
    for change in rows:
        identity = (change.key, *change.identity)
        if identity in seen:
            again.add(_place(change))
        seen.add(identity)
    return again


def _shared(rows: Iterable[Change]) -> set[tuple[object, ...]]:
    """The places that several row changes claim; the two halves of one key move count once."""
    claims: dict[tuple[object, ...], set[object]] = defaultdict(set)
    for change in rows:
        if change.op is not Op.READ:
            claims[_place(change)].add(_claim(change))
    return {place for place, claimed in claims.items() if len(claimed) > 1}


def _claim(change: Change) -> object:
    if change.moved_to is not None:
        return (change.key, change.moved_to)
    if change.moved_from is not None:
        return (change.moved_from, change.key)
    return (change.key, change.identity)


@dataclass(slots=True)
class _Standing:
    """The rows that stand under one key, oldest first, and the position of the newest."""

    rows: deque[str | None] = field(default_factory=deque)
    major: str = ""

    def starts_from(self, change: Change) -> bool:
        if change.op is Op.CREATE:
            return not self.rows
        return change.before is not None and change.before in self.rows

    def apply(self, change: Change) -> None:
        major = major_of(change.seq)
        if change.op is Op.CREATE and major != self.major:
            self.rows.clear()  # a truncate in another partition removed what stood
        if change.op in {Op.UPDATE, Op.DELETE} and self.rows:
            if change.before in self.rows:
                self.rows.remove(change.before)
            else:
                self.rows.popleft()
        if change.op is not Op.DELETE:
            self.rows.append(change.after)
        self.major = major


class _Partition:
    """One partition, read in order of its offsets."""

    def __init__(self, candidates: set[tuple[object, ...]]) -> None:
        self._candidates = candidates
        self._seen: set[tuple[object, ...]] = set()
        self._standing: dict[str, _Standing] = defaultdict(_Standing)
        self._high = ""

    def genuine(self, changes: Iterable[Change]) -> Iterator[Coordinates]:
        for change in changes:
            identity = (change.key, *change.identity)
            major = major_of(change.seq)
            standing = self._standing[change.key]
            if identity in self._seen:
                rewound = major < self._high
                shared = _place(change) in self._candidates
                if rewound or not shared or not standing.starts_from(change):
                    continue
                yield change.at
            self._seen.add(identity)
            self._high = max(self._high, major)
            standing.apply(change)
