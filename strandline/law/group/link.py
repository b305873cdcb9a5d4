"""Stage 4, link: changes of a key become lives, lives are linked across key moves.

A *life* is one stay of a row under a key: opened by an image on a key that is not live, ended by a
delete, a tombstone, a fence, or a create on top of it, unless the connector sends updates as
creates, too (docs/facts/order.md, "Packed rows"). A life that was opened by the second half of a
key move continues the life that the first half ended.
"""

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from strandline.changes.change import ENDS, IMAGES, Change, Fence, Op
from strandline.changes.position import Local, directly_after, is_placed, major_of, next_to
from strandline.law.group.shift import in_turn
from strandline.law.group.sweep import spared


@dataclass(frozen=True, slots=True)
class Habits:
    """How a connector reports what this stage links; see `strandline.connectors.Connector`."""

    shifts: bool = False
    reads_last: bool = False
    full_before: bool = False
    shares_fences: bool = False
    packs: bool = False


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


def link(changes: Iterable[Change], fences: Sequence[Fence], habits: Habits) -> Linked:
    """Lives and their lineage from the distinct changes of a group; `fences` as `ordered` them."""
    by_key: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_key[change.key].append(change)
    lives = {
        key: list(_Stays(key, fences, habits).lives(own)) for key, own in sorted(by_key.items())
    }
    return Linked(lives, _link_moves(lives, (c for own in by_key.values() for c in own)))


def ordered(truncates: Iterable[Fence], sweeps: Sequence[Fence]) -> list[Fence]:
    """The fences of a table in their order."""
    fences = sorted((*truncates, *sweeps), key=lambda fence: (fence.seq, fence.sweep))
    return [_behind(fence, sweeps) for fence in fences]


def table_at(changes: Sequence[Change], seq: str) -> str | None:
    """The physical table of the last row before that place; `changes` of one key are in order."""
    before = bisect_left(changes, seq, key=lambda change: change.seq)
    earlier = (changes[place] for place in range(before - 1, -1, -1))
    return next((c.scope for c in earlier if c.op in IMAGES and c.scope is not None), None)


def located(fence: Fence, changes: Iterable[Change]) -> Fence | None:
    """A truncate that only its shard's log orders, at its place among the changes of one key.

    It stands behind the last of them that lies before it in that log; None where none does: it is
    of other rows. Other fences stay where they are.
    """
    if fence.local is None:
        return fence
    earlier = [change.seq for change in changes if _precedes(change, fence.local)]
    if not earlier:
        return None
    seq = next_to(max(fence.seq, *earlier))
    return replace(fence, seq=seq, scope=_table(fence, fence.local.shard))


def _behind(fence: Fence, swept: Iterable[Fence]) -> Fence:
    """Behind the snapshots that Kafka has before it, where only its shard orders the truncate."""
    if fence.local is None:
        return fence
    whole = replace(fence, scope=_table(fence, fence.local.shard))
    earlier = (s.seq for s in swept if s.stored <= fence.stored and whole.concerns(s.scope))
    return replace(fence, seq=max((fence.seq, *earlier)))


def _table(fence: Fence, shard: str) -> str | None:
    """The scope of the table that the shard is a part of."""
    return None if fence.scope is None else fence.scope.removesuffix(f"@{shard}")


def _precedes(change: Change, place: Local) -> bool:
    own = None if change.position is None else change.position.local
    return own is not None and own.precedes(place)


@dataclass(frozen=True, slots=True)
class _Stays:
    """Cuts the changes of one key into lives."""

    key: str
    fences: Sequence[Fence]
    habits: Habits

    def lives(self, changes: Iterable[Change]) -> Iterator[Life]:
        ordered = sorted(changes, key=lambda change: change.seq)
        reads = spared(ordered)
        concerned = (
            located(self._placed(fence, ordered), ordered)
            for fence in self.fences
            if not (fence.sweep and major_of(fence.seq) in reads)
        )
        placed = sorted((f for f in concerned if f is not None), key=lambda fence: fence.seq)
        kept = list(self._not_stale(ordered, placed))
        # A key may come back in another table of its topic: each fence is asked where it stands.
        fences = [fence for fence in placed if fence.concerns(table_at(kept, fence.seq))]
        if self.habits.shifts:
            cuts = [fence.seq for fence in fences]
            kept = in_turn(kept, cuts, full_before=self.habits.full_before)
        return _lives(self.key, kept, fences, packs=self.habits.packs)

    def _placed(self, fence: Fence, changes: Iterable[Change]) -> Fence:
        """Among rows at its position a truncate stands by its offset, in one partition (A11)."""
        if not self.habits.shares_fences or fence.sweep:
            return fence
        beside = any(
            change.at.log == fence.at.log and major_of(change.seq) == major_of(fence.seq)
            for change in changes
        )
        return replace(fence, seq=directly_after(fence.seq, fence.at)) if beside else fence

    def _not_stale(self, changes: Iterable[Change], fences: Iterable[Fence]) -> Iterator[Change]:
        """Source order, without stale reads: after a streamed change or fence at one position.

        An incremental snapshot's read carries the position of the last streamed event; it must not
        resurrect what that event deleted (docs/facts/snapshots.md). Where a snapshot's read is
        known to have seen everything at its position, it is stale only after a delete. What is
        outdated was stale when it was sent.
        """
        last: Change | None = None
        scope: str | None = None
        cuts: dict[str, list[Fence]] = defaultdict(list)
        for fence in fences:
            if not fence.sweep and fence.local is None:
                cuts[major_of(fence.seq)].append(fence)
        for change in changes:
            major = major_of(change.seq)
            scope = change.scope if change.op in IMAGES and change.scope else scope
            if change.outdated:
                continue
            if change.op is Op.READ:
                behind = last is not None and major_of(last.seq) == major and is_placed(major)
                deleted = last is not None and last.op is Op.DELETE
                if self.habits.reads_last and change.whole:
                    if behind and deleted:
                        continue
                elif behind or any(fence.concerns(scope) for fence in cuts.get(major, ())):
                    continue
            elif change.op is not Op.TOMBSTONE:
                last = change
            yield change


def _lives(
    key: str, changes: Sequence[Change], fences: Sequence[Fence], *, packs: bool
) -> Iterator[Life]:
    life: Life | None = None
    passed = 0
    for number, sent in enumerate(changes):
        change = _unpacked(sent) if packs and life is not None else sent
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
        while passed < len(fences) and fences[passed].seq <= change.seq:
            passed += 1
        following = changes[number + 1].seq if number + 1 < len(changes) else None
        fenced = passed < len(fences) and (following is None or fences[passed].seq < following)
        if life is not None and fenced:
            life.end = fences[passed]
            yield life
            life = None
    if life is not None:
        yield life


def _unpacked(change: Change) -> Change:
    """A create on a live key as the update that it is; not one that a row moved there with."""
    packed = change.op is Op.CREATE and change.moved_from is None
    return replace(change, op=Op.UPDATE) if packed else change


def _link_moves(lives: Mapping[str, list[Life]], changes: Iterable[Change]) -> int:
    """Gives each moved life its parent; returns the number of halves whose partner is missing."""
    ordered = sorted(changes, key=lambda change: change.seq)
    departures = _halves(c for c in ordered if c.moved_to is not None)
    arrivals = _halves(c for c in ordered if c.moved_from is not None)
    ended = {_where(life.end): life for stays in lives.values() for life in stays if life.end}
    opened = {life.images[0].at: life for stays in lives.values() for life in stays}
    partnered = 0
    for half, change in arrivals.items():
        departure = departures.get(half)
        partnered += departure is not None
        life = opened.get(change.at)
        if life is None:
            continue
        if departure is not None:
            life.parent = ended.get(_where(departure))
        else:
            life.parent = _standing(lives.get(change.moved_from or "", ()), change.seq)
    _break_rings(life for stays in lives.values() for life in stays)
    return len(arrivals) + len(departures) - 2 * partnered


def _break_rings(lives: Iterable[Life]) -> None:
    """Where a lineage comes back to itself the life that opened first is the one that began it.

    A row that went there, back and there again at one position does so if its first leaving is not
    known: the second is taken for it.
    """
    settled: set[int] = set()
    for life in lives:
        path: list[Life] = []
        on: Life | None = life
        while on is not None and id(on) not in settled:
            settled.add(id(on))
            path.append(on)
            on = on.parent
        ring = path[_place(path, on) :]
        if ring:
            min(ring, key=lambda each: each.images[0].seq).parent = None


def _place(path: Sequence[Life], life: Life | None) -> int:
    """Where a life stands on a path; behind it if it does not."""
    return next((n for n, each in enumerate(path) if each is life), len(path))


def _halves(changes: Iterable[Change]) -> dict[tuple[object, ...], Change]:
    """By old key, new key, place, and how many moves between the two that place has seen."""
    found: dict[tuple[object, ...], Change] = {}
    times: dict[tuple[object, ...], int] = defaultdict(int)
    for change in changes:
        place = change.position.link if change.position is not None else ""
        old, new = change.moved_from or change.key, change.moved_to or change.key
        times[old, new, place] += 1
        found[old, new, place, times[old, new, place]] = change
    return found


def _where(end: Change | Fence) -> tuple[object, ...]:
    return (end.at, isinstance(end, Fence) and end.sweep)


def _standing(lives: Sequence[Life], seq: str) -> Life | None:
    """The last life that began before `seq`: what a move whose first half is still out left.

    None where it had ended before: the row that moved was never seen.
    """
    before = [life for life in lives if life.images[0].seq < seq]
    last = before[-1] if before else None
    if last is None or (last.end is not None and major_of(last.end.seq) < major_of(seq)):
        return None
    return last
