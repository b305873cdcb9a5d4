"""Part of stage 4: a complete snapshot ends the rows that it did not read.

Its fence stands directly before the reads and spares the keys that were read. A snapshot of
which no read came has no position: no sweep (docs/facts/questions.md, A7).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from strandline.changes import scope
from strandline.changes.change import Change, Fence
from strandline.changes.position import before_phase, major_of
from strandline.formats.notification import Snapshot
from strandline.law.facts import place_of

First = Mapping[tuple[Snapshot, str], Fence]


def first_reads(reads: Iterable[Change], snapshots: Sequence[Snapshot]) -> First:
    """The fence before the first read of each complete snapshot and each table that it read.

    `reads` are all deliveries: one that repeats a read of a snapshot before counts for its own.
    """
    found: dict[tuple[Snapshot, str], Fence] = {}
    if not snapshots:
        return found
    for read in reads:
        if not read.whole or read.emitted is None:
            continue
        for snapshot in snapshots:
            if is_of(snapshot, read.connector_name, read.emitted, read.scope):
                of, fence = (snapshot, table(read.scope)), _before(read)
                found[of] = min(fence, found.get(of, fence), key=place_of)
    return found


def sweeps(first: First, snapshots: Sequence[Snapshot]) -> Iterator[Fence]:
    """One fence for each of these complete snapshots and each table of which it read rows."""
    for snapshot in snapshots:
        for (of, _), fence in sorted(first.items(), key=lambda each: each[0][1]):
            if of == snapshot:
                yield fence


def _before(read: Change) -> Fence:
    place = before_phase(read.seq)
    return Fence(read.at, place, read.time, read.scope, sweep=True, stored=read.stored)


def table(of: str | None) -> str:
    """The table of a scope, of a server, in whatever epoch: one snapshot may see one begin."""
    return "" if of is None else scope.known(of)


def is_of(snapshot: Snapshot, connector: str | None, emitted: int, of: str | None) -> bool:
    """Whether a read is of that snapshot, by who sent it, when, and of which table."""
    names = {connector, snapshot.connector} - {None}
    timely = snapshot.started <= emitted <= snapshot.completed
    return len(names) < 2 and timely and snapshot.has(of and scope.table(of))


def spared(changes: Iterable[Change]) -> frozenset[str]:
    """The positions, as their major parts, of snapshots that read this key."""
    return frozenset(major_of(c.seq) for c in changes if c.whole)
