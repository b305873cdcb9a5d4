"""Part of stage 4: a complete snapshot ends the rows that it did not read (ordering-notes §7).

Its fence stands directly before the reads and spares the keys that were read. A snapshot of
which no read came has no position: no sweep (§9, A7).
"""

from collections.abc import Iterable, Iterator, Sequence

from strandline.changes import scope
from strandline.changes.change import Change, Fence
from strandline.changes.position import before_phase, major_of
from strandline.formats.notification import Snapshot


def sweeps(reads: Iterable[Change], snapshots: Sequence[Snapshot]) -> Iterator[Fence]:
    """One fence per complete snapshot that read rows of this table.

    `reads` are all deliveries: one that repeats a read of a snapshot before counts for its own.
    """
    reads = [read for read in reads if read.emitted is not None]
    for snapshot in snapshots:
        own = [read for read in reads if _is_of(read, snapshot)]
        for table in sorted({_table(read) for read in own}):
            first = min(
                (read for read in own if _table(read) == table),
                key=lambda read: (major_of(read.seq), read.at.offset, read.at.partition),
            )
            yield Fence(
                first.at,
                before_phase(first.seq),
                first.time,
                first.scope,
                sweep=True,
                stored=first.stored,
            )


def _table(read: Change) -> str:
    """Of a server, in whatever epoch: one snapshot may see an epoch begin."""
    return "" if read.scope is None else scope.known(read.scope)


def _is_of(read: Change, snapshot: Snapshot) -> bool:
    names = {read.connector_name, snapshot.connector} - {None}
    timely = snapshot.started <= (read.emitted or 0) <= snapshot.completed
    return len(names) < 2 and timely and snapshot.has(read.scope and scope.table(read.scope))


def spared(changes: Iterable[Change]) -> frozenset[str]:
    """The positions, as their major parts, of snapshots that read this key."""
    return frozenset(major_of(c.seq) for c in changes if c.whole)
