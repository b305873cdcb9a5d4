"""Stage 4, link: changes of a key become lives, lives are linked across key moves.

A *life* is one stay of a row under a key: opened by an image on a key that is not live, ended by a
delete, a tombstone, a truncate fence, or a create on top of it. A life that was opened by the
second half of a key move continues the life that the first half ended.
"""

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from strandline.change import ENDS, IMAGES, Change, Fence, Op
from strandline.interpreter.distinct import Distinct
from strandline.position import major_of


@dataclass(slots=True)
class Life:
    """One stay of a row under a key: its images in order, and what ended it (None: nothing)."""

    key: str
    images: list[Change]
    end: Change | Fence | None = None
    parent: "Life | None" = field(default=None, repr=False)

    @property
    def root(self) -> "Life":
        """The life where the row first appeared, under whichever key."""
        life = self
        while life.parent is not None:
            life = life.parent
        return life

    @property
    def entity_id(self) -> str:
        """Stable across key moves: a digest of where the row first appeared."""
        first = self.root
        return entity_id(first.key, first.images[0].seq)


@dataclass(frozen=True, slots=True)
class Linked:
    """The lives of a table by key, each key's in order; halves of moves without their partner."""

    lives: dict[str, list[Life]]
    orphans: int


def entity_id(key: str, seq: str) -> str:
    """32 hexadecimal digits that say which row this is, made of its first key and position."""
    return hashlib.sha256(f"{key}@{seq}".encode()).hexdigest()[:32]


def link(found: Distinct) -> Linked:
    """Lives and their lineage from the distinct changes and fences of one table."""
    fences = sorted(found.fences, key=lambda fence: fence.seq)
    by_key: dict[str, list[Change]] = defaultdict(list)
    for change in found.changes:
        by_key[change.key].append(change)
    lives = {
        key: list(_lives(key, list(_in_order(changes)), fences))
        for key, changes in sorted(by_key.items())
    }
    return Linked(lives, _link_moves(lives, found.changes))


def _in_order(changes: Iterable[Change]) -> Iterator[Change]:
    """Source order, without stale reads: a read after a streamed change at the same position.

    An incremental snapshot's read carries the position of the last streamed event; it must not
    resurrect what that event deleted (ordering-notes §7).
    """
    streamed = ""
    for change in sorted(changes, key=lambda change: change.seq):
        major = major_of(change.seq)
        if change.op is Op.READ and major == streamed:
            continue
        if change.op not in {Op.READ, Op.TOMBSTONE}:
            streamed = major
        yield change


def _lives(key: str, changes: Sequence[Change], fences: Sequence[Fence]) -> Iterator[Life]:
    life: Life | None = None
    fence_seqs = [fence.seq for fence in fences]
    for number, change in enumerate(changes):
        if change.op in IMAGES and (life is None or change.op is Op.CREATE):
            if life is not None:
                life.end = change
                yield life
            life = Life(key, [change])
        elif life is not None and change.op in IMAGES:
            life.images.append(change)
        elif life is not None and change.op in ENDS:
            life.end = change
            yield life
            life = None
        following = changes[number + 1].seq if number + 1 < len(changes) else None
        at = bisect_right(fence_seqs, change.seq)
        fenced = at < len(fences) and (following is None or fence_seqs[at] < following)
        if life is not None and fenced:
            life.end = fences[at]
            yield life
            life = None
    if life is not None:
        yield life


def _link_moves(lives: dict[str, list[Life]], changes: Iterable[Change]) -> int:
    """Gives each moved life its parent; returns the number of halves whose partner is missing."""
    departures = {
        (change.key, change.moved_to, change.position.link): change
        for change in changes
        if change.moved_to is not None and change.position is not None
    }
    ended = {id(life.end): life for stays in lives.values() for life in stays}
    partnered = 0
    arrivals = 0
    for change in changes:
        if change.moved_from is None or change.position is None:
            continue
        arrivals += 1
        departure = departures.get((change.moved_from, change.key, change.position.link))
        partnered += departure is not None
        life = next((x for x in lives[change.key] if x.images[0] is change), None)
        if life is None:
            continue
        if departure is not None:
            life.parent = ended.get(id(departure))
        else:
            life.parent = _standing(lives.get(change.moved_from, ()), change.seq)
    return arrivals + len(departures) - 2 * partnered


def _standing(lives: Sequence[Life], seq: str) -> Life | None:
    """The last life that began before `seq`: what a move whose first half is still out left."""
    before = [life for life in lives if life.images[0].seq < seq]
    return before[-1] if before else None
