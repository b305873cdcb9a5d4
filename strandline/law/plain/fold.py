"""The fold of plain keys: one loop over columns, which does what the whole chain would do to them.

A key is *plain* where nothing has to be found out about it: each of its records came once, in one
partition, at a later position than the one before it; what an image left out, the row before it
has; no row of it was taken over or open at a snapshot; what fences the table has stand clearly
before or behind its rows; of a move both halves are there (`strandline.law.plain.moves`). Then its
deliveries are its changes, in their order, and its history is told as they pass by. A key that is
not plain is left to `strandline.law.group`, which is the meaning; that both agree is what
tests/properties/test_plain.py tries.

The loop goes on from what stands of a key (`Standing`), where everything new is newer: that is the
same check as between two rows of one run. Otherwise the key is folded from all of its rows.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from strandline.cells.instants import micros
from strandline.changes import scope as scopes
from strandline.changes.change import Fence
from strandline.changes.position import FIRST_EPOCH, major_of
from strandline.changes.version import ClosedBy, TimeQuality
from strandline.connectors import Connector
from strandline.law.decode.typed import UNSENT
from strandline.law.plain.rows import Rows

_CLAMPED = TimeQuality.CLAMPED.value
_UPDATE, _DELETE = ClosedBy.UPDATE.value, ClosedBy.DELETE.value
_KEY_MOVE = ClosedBy.KEY_MOVE.value
_CORRECTION = ClosedBy.SNAPSHOT_CORRECTION.value

# A version as the loop makes it: number of the row that opened it, its cells, valid from and to
# (microseconds), position from and to, what closed it, entity, how far the time can be trusted.
Made = tuple[int, tuple[object, ...], int, int | None, str, str | None, str | None, str, str]
OPENED: Final = 0
CELLS: Final = 1
VALID_FROM: Final = 2
VALID_TO: Final = 3
SEQ_FROM: Final = 4
SEQ_TO: Final = 5
CLOSED_BY: Final = 6
ENTITY: Final = 7
QUALITY: Final = 8

# Half of a key move: the other key, and what both halves have in common.
Move = tuple[str, str]


@dataclass(slots=True)
class Standing:
    """What a run leaves of a key for the next one to go on from.

    `rows` is how many of its rows it is made of. `major`, `own`, `offset`, `topic_id` and
    `partition` are those of its last record, `scope` the table of its last row, `taken_over` the
    transaction that last put a row where one may still have been, `image` the position of the last
    image. `open` is the version that stands, None where none does; `floor` the latest time that the
    key has shown. `departures` and `arrivals` are halves of key moves, with the number of the
    version that ended or began with it; None where a row left that was never seen.
    """

    rows: int
    major: str
    own: str
    offset: int
    topic_id: str
    partition: int
    scope: str | None
    taken_over: str | None
    image: str
    floor: int | None
    open: Made | None
    versions: list[Made] = field(default_factory=list)
    departures: dict[Move, int | None] = field(default_factory=dict)
    arrivals: dict[Move, int] = field(default_factory=dict)

    @property
    def moves(self) -> bool:
        """Whether rows moved from the key, or to it."""
        return bool(self.departures or self.arrivals)

    @property
    def reach(self) -> str:
        """The last position that its history knows of, as a major part.

        A fence may have ended the row at a later one than the key's own last. Whatever lands in
        between was ended by that fence too, or ended the row before it did: only what is behind
        goes on from here, else the key is folded from all of its rows.
        """
        ended = self.versions[-1][SEQ_TO] if self.open is None and self.versions else None
        return self.major if ended is None else max(self.major, major_of(ended)[len(FIRST_EPOCH) :])


@dataclass(frozen=True, slots=True)
class Fences:
    """The fences of a table in their order, where their places are the same for every key."""

    fences: Sequence[Fence]
    seqs: Sequence[str]
    majors: frozenset[str]
    times: Sequence[int]

    @staticmethod
    def of(fences: Sequence[Fence]) -> "Fences | None":
        """None where a truncate stands elsewhere for each key: then no key is plain."""
        if any(fence.local is not None for fence in fences):
            return None
        seqs = [fence.seq for fence in fences]
        majors = frozenset(major_of(seq)[len(FIRST_EPOCH) :] for seq in seqs)
        return Fences(fences, seqs, majors, [micros(fence.time.best) for fence in fences])


def fold(
    keys: Iterable[tuple[str, Sequence[int]]],
    rows: Rows,
    standing: Mapping[str, Standing],
    fences: Fences,
    connector: Connector,
) -> tuple[dict[str, Standing], list[str]]:
    """What becomes of these keys, each with the numbers of its new rows; and which are not plain.

    Nothing of `standing` is changed: what is returned takes the place of what stood.
    """
    found: dict[str, Standing] = {}
    others: list[str] = []
    for key, numbers in keys:
        made = _folded(key, numbers, rows, standing.get(key), fences, connector)
        if made is None:
            others.append(key)
        else:
            found[key] = made
    return found, others


def _folded(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - one loop, on purpose: calls would cost more than its work
    key: str,
    numbers: Sequence[int],
    rows: Rows,
    before: Standing | None,
    fences: Fences,
    connector: Connector,
) -> Standing | None:
    """The key after these rows; None where it is not plain."""
    ops, majors, owns, scope_of = rows.op, rows.major, rows.own, rows.scope
    partitions, offsets, times, partial = rows.partition, rows.offset, rows.best, rows.partial
    topic_ids = rows.topic_id
    takes_over = connector.shifts
    moved = rows.moved
    departures = dict(before.departures) if before is not None and before.departures else {}
    arrivals = dict(before.arrivals) if before is not None and before.arrivals else {}
    made: list[Made]
    if before is None:
        first = numbers[0]
        last_major = last_own = ""
        last_offset, partition, scope = -1, partitions[first], scope_of[first]
        topic_id = topic_ids[first]
        taken_over, image, floor, live, made = None, "", None, None, []
    else:
        last_major, last_own, last_offset = before.major, before.own, before.offset
        partition, scope, taken_over = before.partition, before.scope, before.taken_over
        topic_id = before.topic_id
        image, floor, live, made = before.image, before.floor, before.open, list(before.versions)
    for n in numbers:
        major, own = majors[n], owns[n]
        if (
            partitions[n] != partition
            or topic_ids[n] != topic_id
            or offsets[n] <= last_offset
            or major <= last_major
            or own <= last_own
            or scope_of[n] != scope
        ):
            return None
        op, at = ops[n], times[n]
        if fences.seqs:
            if major in fences.majors and not _spared(rows, n, fences):
                return None
            live, floor, ok = _fenced(live, floor, made, scope, last_major, major, fences)
            if not ok:
                return None
        last_major, last_own, last_offset = major, own, offsets[n]
        if op == "d":
            if taken_over is not None and rows.tx_id[n] == taken_over:
                return None  # which of the rows leaves, the group knows
            how = _DELETE
            if n in moved:
                how, departures[moved[n]] = _KEY_MOVE, None if live is None else len(made)
            if live is not None:
                number, cells, since, _, seq, _, _, entity, quality = live
                floor = max(since, at)
                end = f"{FIRST_EPOCH}{major}0{last_offset:011x}{partition:04x}"
                made.append((number, cells, since, floor, seq, end, how, entity, quality))
                live = None
            continue
        cells, image = rows.cells[n], major
        if n in partial:
            if live is None or op == "c":
                return None  # nobody knows what was not sent
            cells = tuple(
                [old if new is UNSENT else new for old, new in zip(live[CELLS], cells, strict=True)]
            )
        new = live is None or op == "c"
        if not new and rows.alike(live[CELLS], cells):  # type: ignore[index]
            if rows.tracked is not None:  # what is ignored is overwritten
                live = (live[OPENED], cells, *live[VALID_FROM:])  # type: ignore[index]
            continue
        phase = rows.phase(n) if op == "r" else "0"
        seq = f"{FIRST_EPOCH}{major}{phase}{last_offset:011x}{partition:04x}"
        followed = live is not None
        if live is not None:
            number, old, since, _, began, _, _, entity, quality = live
            floor = max(since, at)
            how = _CORRECTION if op == "r" else _UPDATE
            made.append((number, old, since, floor, began, seq, how, entity, quality))
        if new:
            entity = sha256(f"{key}@{seq}".encode()).hexdigest()[:32]
            if n in moved:
                arrivals[moved[n]] = len(made)
            if takes_over and op == "c" and (followed or n in moved or connector.full_before):
                taken_over = rows.tx_id[n] or taken_over
        quality = rows.quality[n]
        if floor is not None and floor > at:
            at, quality = floor, _CLAMPED
        live = (n, cells, at, None, seq, None, None, entity, quality)
        floor = at
    if fences.seqs:
        live, floor, ok = _fenced(live, floor, made, scope, last_major, None, fences)
        if not ok:
            return None
    count = len(numbers) + (before.rows if before is not None else 0)
    return Standing(
        count,
        last_major,
        last_own,
        last_offset,
        topic_id,
        partition,
        scope,
        taken_over,
        image,
        floor,
        live,
        made,
        departures,
        arrivals,
    )


def _spared(rows: Rows, n: int, fences: Fences) -> bool:
    """Whether a row at the position of fences is a read of the snapshot that they are of."""
    major = f"{FIRST_EPOCH}{rows.major[n]}"
    own = (f for f in fences.fences if major_of(f.seq) == major)
    return n in rows.whole and all(fence.sweep for fence in own)


def _fenced(  # noqa: PLR0913, PLR0917
    live: Made | None,
    floor: int | None,
    made: list[Made],
    scope: str | None,
    since: str,
    until: str | None,
    fences: Fences,
) -> tuple[Made | None, int | None, bool]:
    """The row that stands behind the fences between two positions, the former time, and all well.

    Not well: where a fence is of another server than the row that it ends.
    """
    if live is None:
        return live, floor, True
    end = None if until is None else f"{FIRST_EPOCH}{until}"
    for place in range(bisect_right(fences.seqs, live[SEQ_FROM]), len(fences.seqs)):
        fence = fences.fences[place]
        major = major_of(fence.seq)
        if end is not None and major >= end:
            break
        if major <= f"{FIRST_EPOCH}{since}" or not fence.concerns(scope):
            continue
        if scopes.strangers(fence.scope, scope):
            return live, floor, False
        number, cells, began, _, seq, _, _, entity, quality = live
        at = fences.times[place]
        floor = max(began, at)
        how = ClosedBy.SNAPSHOT_ABSENT if fence.sweep else ClosedBy.TRUNCATE
        made.append((number, cells, began, floor, seq, fence.seq, how.value, entity, quality))
        return None, floor, True
    return live, floor, True
