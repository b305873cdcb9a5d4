"""Stage 3, distinct: of the deliveries of one change the first stays.

A crash repeats a suffix of the stream with the same `source` and later offsets. Identity is
position, op, key *and* content (docs/facts/order.md): position alone loses rows, both halves of a
key move share one. A tombstone is bound to the record of its key directly before it in the raw
partition, first delivery or second, and shares its fate (docs/facts/order.md, "Tombstones").
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from strandline.changes.change import ENDS, Change, Fence, Op, Quarantined
from strandline.changes.position import directly_after, fence_seq, is_placed, major_of
from strandline.changes.record import Coordinates
from strandline.law.facts import Facts
from strandline.law.group.in_flight import last_reads
from strandline.law.group.repetition import occurrences
from strandline.runs import segment


@dataclass(frozen=True, slots=True)
class Distinct:
    """First deliveries in no particular order, and how many records were something else."""

    changes: tuple[Change, ...]
    duplicates: int
    absorbed: int  # tombstones that add nothing to the delete before them


def distinct(
    changes: Sequence[Change],
    refused: Iterable[Quarantined],
    facts: Facts,
    *,
    shares: bool = False,
    shifts: bool = False,
) -> Distinct:
    """The distinct changes of some keys, of which these are all deliveries.

    `refused` are the records in quarantine that name one of the keys: a tombstone behind one of
    them waits for it. `facts` are those of the table, `shares` and `shifts` the connector's habits.
    """
    deliveries, changes = len(changes), _landed_first(changes)
    # Where positions are not shared no change has an equal one, and ordinals say nothing new.
    rows = _Rows(occurrences(changes, facts, shifts=shifts) if shares else {}, facts.reads)
    logs: dict[tuple[tuple[str, int], str], list[Change | Quarantined]] = defaultdict(list)
    records: list[Change | Quarantined] = [*changes, *refused]
    for record in sorted(records, key=lambda r: r.at.order):
        if record.key is not None:
            logs[record.at.log, record.key].append(record)
    placed = {change.key for change in changes if is_placed(major_of(change.seq))}
    for (_, key), own in logs.items():
        rows.read(own, placed=key in placed)
    kept = rows.kept()
    again = deliveries - len(changes)
    return Distinct(tuple(kept), rows.count - len(kept) + again, rows.absorbed)


def _landed_first(changes: Sequence[Change]) -> Sequence[Change]:
    """Without what a backfill landed again, where the record that it is of is here as well.

    Not every record of that offset is: brokers that lose records give their offsets to others.
    """
    if not any(segment.is_again(change.at.topic_id) for change in changes):
        return changes
    first = {_stored(change, change.at) for change in changes}
    return [
        change
        for change in changes
        if not segment.is_again(change.at.topic_id)
        or _stored(change, segment.original(change.at)) not in first
    ]


def _stored(change: Change, at: Coordinates) -> tuple[object, ...]:
    """What is the same of a record whenever it is read from the place in Kafka."""
    return at, change.stored, change.key, change.op


def first_fences(fences: Iterable[Fence]) -> tuple[Fence, ...]:
    """Of the deliveries of one truncate the earliest by Kafka's time, whichever its partition."""
    first: dict[tuple[str, str | None], Fence] = {}
    for fence in sorted(fences, key=lambda f: (f.stored, f.at.order)):
        first.setdefault((fence.seq, fence.scope), fence)
    return tuple(first.values())


@dataclass(slots=True)
class _Delivery:
    """A change as it lies in its raw partition: what is directly before and behind it."""

    change: Change
    identity: tuple[object, ...]
    stored: int  # Kafka's time of it, or of a later one before it
    preceded: bool = False  # by a tombstone
    followed: bool = False  # by a tombstone


@dataclass(frozen=True, slots=True)
class _Lone:
    """A tombstone without its delete, and the deliveries around it."""

    change: Change
    before: _Delivery | None
    after: _Delivery | None


class _Rows:
    """The changes of rows; each key's records are read as they lie in a partition."""

    def __init__(self, nth: Mapping[Coordinates, int], reads: Mapping[str, int]) -> None:
        self.count = 0
        self.absorbed = 0
        self._nth = nth
        self._reads = reads
        self._every: dict[tuple[object, ...], list[_Delivery]] = defaultdict(list)
        self._lone: list[_Lone] = []

    def read(self, records: Sequence[Change | Quarantined], *, placed: bool) -> None:
        """The records of one key in one partition, by offset.

        `placed`: whether any of the key's records, there or elsewhere, has a position.
        """
        before: _Delivery | None = None
        waiting: Change | None = None
        ended = behind = False
        stored = -1  # as of a record without a time
        places = _Places(self._reads, placed=placed)
        for record in records:
            if isinstance(record, Quarantined):
                ended = True
                continue
            stored = max(stored, record.stored)
            if record.op is Op.TOMBSTONE:
                self.absorbed += ended
                self.count += not ended
                if not ended:
                    waiting = places.tombstone(record)
                if before is not None:
                    before.followed = True
                ended = behind = True
                continue
            self.count += 1
            delivery = self._delivery(places.change(record), stored)
            delivery.preceded = behind
            if waiting is not None:
                self._lone.append(_Lone(waiting, before, delivery))
            before, waiting, ended, behind = delivery, None, record.op in ENDS, False
        if waiting is not None:
            self._lone.append(_Lone(waiting, before, None))

    def _delivery(self, change: Change, stored: int) -> _Delivery:
        identity = (change.key, *change.identity, self._nth.get(change.at, 1))
        delivery = _Delivery(change, identity, stored)
        self._every[identity].append(delivery)
        return delivery

    def kept(self) -> list[Change]:
        """First deliveries, and lone tombstones that were not delivered before."""
        lone = (each.change for each in self._lone if not self._again(each))
        return [*(min(every, key=_order).change for every in self._every.values()), *lone]

    def _again(self, lone: _Lone) -> bool:
        """A lone tombstone came before if its neighbour did, with a tombstone (A9).

        What is sent again behind it has one before it; but it is of the record before it, if that
        has a tombstone whenever it is sent again.
        """
        if self._repeats(lone.before, "followed"):
            return True
        own = lone.before is not None and self._last(lone.before).followed
        return not own and self._repeats(lone.after, "preceded")

    def _last(self, delivery: _Delivery) -> _Delivery:
        return max(self._every[delivery.identity], key=_order)

    def _repeats(self, delivery: _Delivery | None, side: str) -> bool:
        """Whether an earlier delivery of the change had a tombstone at that side."""
        if delivery is None:
            return False
        every = self._every[delivery.identity]
        return any(getattr(each, side) for each in every if _order(each) < _order(delivery))


def _order(delivery: _Delivery) -> tuple[int, tuple[int, int, str]]:
    """Of deliveries: offsets of two partitions do not compare, and clocks may run back."""
    return (delivery.stored, delivery.change.at.order)


class _Places:
    """Where records stand that have no position of their own, among one key in one partition."""

    def __init__(self, reads: Mapping[str, int], *, placed: bool) -> None:
        self._high = ""
        self._read = ""
        self._streamed = ""
        self._reads = reads
        self._placed = placed

    def tombstone(self, change: Change) -> Change:
        """Directly after the record before it; where there is none, before every position."""
        if self._placed and not self._high:
            return replace(change, seq=fence_seq(""))
        return replace(change, seq=directly_after(self._high or fence_seq(""), change.at))

    def change(self, change: Change) -> Change:
        """A change of a transaction that was open at a snapshot is newer than the reads before it.

        Its position is below theirs, but it comes later: than the read of its own row in the same
        partition, than those of other rows by the connector's clock (docs/facts/questions.md, A10).
        A read behind a later change is of a snapshot that was taken later than its position:
        PostgreSQL's blocking ones carry that of the slot in the run that made it.
        """
        if change.in_flight:
            read = max(self._read, last_reads(self._reads, change))
            if change.seq < read:
                change = replace(change, seq=directly_after(read, change.at))
        self._high = max(self._high, change.seq)
        if change.op is not Op.READ:
            self._streamed = max(self._streamed, major_of(change.seq))
            return change
        self._read = max(self._read, change.seq)
        outdated = change.whole and change.emitted is not None
        return replace(change, outdated=outdated and major_of(change.seq) < self._streamed)
