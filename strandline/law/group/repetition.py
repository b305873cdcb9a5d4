"""Part of stage 3: which of several equal changes at one position happened, and which came again.

With MySQL's compressed transactions, or Oracle without `txSeq`, changes share a position, and the
same content can genuinely occur twice in one transaction: then an ordinal tells which is which.
Deliveries without one are decided per partition and only where the identity was seen before, by
docs/facts/order.md, "Shared positions": a position that is not shared settles it, a rewind settles
it up to the first news, and so does a restart of the connector (docs/facts/questions.md, A1); what
is left is genuine where its `before` is the row that stands.

Some deliveries may have an ordinal and others none: the connector was upgraded, or transaction
metadata switched on. So equal changes are counted: the second ordinal is of the second one, as is
the first genuine repetition without an ordinal. That says of each delivery by itself which change
it is of, in whatever order they arrive.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from strandline.changes.change import Change, Op
from strandline.changes.image import Image, alike
from strandline.changes.position import major_of
from strandline.changes.record import Coordinates
from strandline.law.facts import Facts

Nth = Mapping[Coordinates, int]

_SHARED = 2  # claims make a place a shared one


def occurrences(changes: Collection[Change], facts: Facts, *, shifts: bool) -> Nth:
    """Which of several equal changes a delivery is of, where it is not of the first.

    `changes` are all deliveries of some keys, `facts` those of their table. `shifts`: a key may be
    taken over before its row left it, so several rows stand at once.
    """
    genuine = _genuine_repetitions(changes, facts, shifts=shifts)
    ordinals: dict[object, set[str]] = defaultdict(set)
    for change in changes:
        if change.ordinal is not None:
            ordinals[_identity(change)].add(change.ordinal)
    ranks = {
        identity: {ordinal: n for n, ordinal in enumerate(sorted(own, key=_as_number), 1)}
        for identity, own in ordinals.items()
        if len(own) > 1
    }
    found: dict[Coordinates, int] = {}
    times: Counter[object] = Counter()
    for change in sorted(changes, key=lambda c: c.at.order):
        identity = _identity(change)
        if change.at in genuine:
            times[identity] += 1
            found[change.at] = 1 + times[identity]
        elif change.ordinal is not None and identity in ranks:
            found[change.at] = ranks[identity][change.ordinal]
    return found


def survey(changes: Collection[Change]) -> tuple[frozenset[str], frozenset[Coordinates]]:
    """Of all deliveries of a table: the positions that are shared, and what a rewind sent again."""
    placed = [c for c in changes if _is_placed(c)]
    twice = suspects(placed)
    shared = _shared(c for c in placed if c.ordinal is None and major_of(c.seq) in twice)
    if not shared:
        return frozenset(), frozenset()
    partitions = _by_partition(placed).values()
    return shared, frozenset(at for partition in partitions for at in _rewound(partition))


def claims(changes: Iterable[Change], twice: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Of the changes at these positions: what has its place, told by texts, two of each at most.

    A position with a place that has two of them is shared: so parts of a table tell it together.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        is_asked = change.ordinal is None and change.op is not Op.READ and _is_placed(change)
        if is_asked and major_of(change.seq) in twice:
            own = found[f"{major_of(change.seq)} {_link(change)}"]
            if len(own) < _SHARED:
                own.add(str(_claim(change)))
    return {place: frozenset(own) for place, own in found.items()}


def shared(claimed: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The positions that several changes have, by the claims of all parts of a table."""
    return frozenset(place.partition(" ")[0] for place, own in claimed.items() if len(own) > 1)


def suspects(changes: Iterable[Change]) -> frozenset[str]:
    """The positions of changes that came twice without an ordinal: are they shared?"""
    seen: set[tuple[object, ...]] = set()
    found: set[str] = set()
    for change in changes:
        if change.ordinal is None and _is_placed(change):
            identity = _identity(change)
            if identity in seen:
                found.add(major_of(change.seq))
            seen.add(identity)
    return frozenset(found)


def _identity(change: Change) -> tuple[object, ...]:
    return (change.key, *change.identity)


def _as_number(ordinal: str) -> tuple[int, str]:
    """Digits sort like the number that they are."""
    return len(ordinal), ordinal


def _genuine_repetitions(
    changes: Collection[Change], facts: Facts, *, shifts: bool
) -> frozenset[Coordinates]:
    """Where the changes stand that look like a second delivery and are none."""
    if not facts.shared:
        return frozenset()
    partitions = _by_partition(c for c in changes if _is_placed(c) and c.ordinal is None)
    return frozenset(
        at for partition in partitions.values() for at in _genuine(partition, facts, shifts=shifts)
    )


def _is_placed(change: Change) -> bool:
    """A flattened row has no place to share: its identity says it all."""
    return change.op is not Op.TOMBSTONE and bool(_link(change))


def _by_partition(changes: Iterable[Change]) -> Mapping[tuple[str, int], list[Change]]:
    partitions: dict[tuple[str, int], list[Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda c: c.at.offset):
        partitions[change.at.log].append(change)
    return partitions


def _place(change: Change) -> tuple[object, ...]:
    """What is one change's own where the position is not shared: position and finer fields."""
    return (major_of(change.seq), _link(change))


def _link(change: Change) -> str:
    """Empty for a flattened row, which has no place to share: its identity says it all."""
    return "" if change.position is None else change.position.link


def _shared(rows: Iterable[Change]) -> frozenset[str]:
    """The major positions with a place that several row changes claim.

    The two halves of one key move count once. Where one place is shared every place of the position
    is: the rows of a transaction that MySQL compressed are counted anew by each of its events.
    """
    claims: dict[tuple[object, ...], set[object]] = defaultdict(set)
    for change in rows:
        if change.op is not Op.READ:
            claims[_place(change)].add(_claim(change))
    return frozenset(str(place[0]) for place, claimed in claims.items() if len(claimed) > 1)


def _claim(change: Change) -> object:
    if change.moved_to is not None:
        return (change.key, change.moved_to)
    if change.moved_from is not None:
        return (change.moved_from, change.key)
    return (change.key, change.identity)


@dataclass(slots=True)
class _Standing:
    """The rows that stand under one key, oldest first, and the position of the newest."""

    shifts: bool
    rows: deque[Image] = field(default_factory=deque)
    major: str = ""

    def starts_from(self, change: Change) -> bool:
        if change.op is Op.CREATE:
            return not self.rows
        return change.before is not None and self._like(change.before) is not None

    def apply(self, change: Change) -> None:
        # A read says what stands; a create at a new position, that nothing did any more.
        major = major_of(change.seq)
        anew = change.op is Op.CREATE and major != self.major
        self.major = major
        if not self.shifts or anew or change.op is Op.READ:
            self.rows.clear()
        elif change.op in {Op.UPDATE, Op.DELETE}:
            self._leave(change.before)
        if change.after is not None:
            self.rows.append(change.after)

    def _like(self, before: Image) -> int | None:
        return next((n for n, row in enumerate(self.rows) if alike(row, before)), None)

    def _leave(self, before: Image | None) -> None:
        at = 0 if before is None else self._like(before)
        if at is not None and self.rows:
            del self.rows[at]


def _genuine(changes: Iterable[Change], facts: Facts, *, shifts: bool) -> Iterator[Coordinates]:
    """In one partition, read in order of its offsets."""
    seen: set[tuple[object, ...]] = set()
    standing: dict[str, _Standing] = defaultdict(lambda: _Standing(shifts))
    for change in changes:
        identity = _identity(change)
        rows = standing[change.key]
        if identity in seen:
            shared = major_of(change.seq) in facts.shared
            if change.at in facts.rewound or not shared or not rows.starts_from(change):
                continue
            yield change.at
        seen.add(identity)
        rows.apply(change)


def _rewound(changes: Iterable[Change]) -> Iterator[Coordinates]:
    """In one partition what came again, from a rewind or a restart up to the first news."""
    seen: set[tuple[object, ...]] = set()
    high = ""
    rewound = False
    before: Change | None = None
    for change in changes:
        restarted = before is not None and _restarted(before, change)
        before = change
        if change.ordinal is not None:
            continue
        identity, major = _identity(change), major_of(change.seq)
        if identity in seen:
            rewound |= restarted or major < high
            if rewound:
                yield change.at
        else:
            rewound = False
        seen.add(identity)
        high = max(high, major)


def _restarted(before: Change, change: Change) -> bool:
    """Another run than that of the record before, or one with other settings."""
    if (before.ordinal is None) != (change.ordinal is None):
        return True
    return before.connector_run not in {None, change.connector_run}
