"""The keys of a table whose records the typed decoder has read, and what stands of each.

A key stays here while it is plain (`strandline.law.plain.fold`). What turns out not to be is handed
over with all of its records, which the general decoder then reads: it is never both.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from strandline.cells.types import ColumnType
from strandline.changes.position import FIRST_EPOCH
from strandline.changes.record import Record
from strandline.changes.rekeyed import Identity
from strandline.connectors import Connector
from strandline.formats.notification import Snapshot
from strandline.law.decode.general import Decoder
from strandline.law.decode.typed import Typed
from strandline.law.facts import Facts
from strandline.law.group import sweep
from strandline.law.landed import Landed
from strandline.law.plain.facts import facts, keys_standing
from strandline.law.plain.fold import Fences, Made, Standing, fold
from strandline.law.plain.moves import inherit
from strandline.law.plain.rows import Rows

_TOMBSTONE_OF = "d"


@dataclass(slots=True)
class PlainKeys:
    """The rows of plain keys by key, the tombstones behind them, and what is to be folded.

    `members` has the numbers of a key's rows, `tombstones` those of records. `others` are the keys
    that are not plain, whose records are elsewhere.
    """

    landed: Landed
    typed: Typed
    rows: Rows = field(default_factory=Rows)
    members: dict[str, list[int]] = field(default_factory=dict)
    tombstones: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    waiting: set[str] = field(default_factory=set)
    standing: dict[str, Standing] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    columns: Mapping[str, ColumnType] = field(default_factory=dict)
    tracked: Sequence[str] = ()

    @staticmethod
    def of(topic: str, decoder: Decoder, *, typed: bool = True) -> "PlainKeys":
        """Those of a topic; not `typed`: none."""
        return PlainKeys(Landed(topic), Typed(decoder, accepts=typed))

    def add(self, numbers: range) -> tuple[Facts, list[Record]]:
        """Reads landed records: what they tell, and those that are for the general decoder."""
        landed = self.landed
        part = slice(numbers.start, numbers.stop)
        read, rejected = self.typed.read(
            landed.key[part], landed.value[part], landed.timestamp[part], landed.headers[part]
        )
        new = self.rows.add(read, landed, numbers)
        if new:
            last = self.typed.shapes[self.rows.shape[-1]]
            self.rows.reads_last = last.connector.reads_last
            self.rows.dialect = last.connector.dialect
        left = self._behind_deletes(numbers, new, rejected)
        known = facts(self.rows, self.typed.shapes, new)
        return known, [*self._sorted_in(new), *map(landed.record, left)]

    def _behind_deletes(self, numbers: range, new: range, rejected: Sequence[int]) -> list[int]:
        """The records that are not read yet, but for tombstones that add nothing to a delete."""
        rows = self.rows
        row_of = {rows.record[n]: n for n in new if rows.op[n] == _TOMBSTONE_OF}
        left = []
        for at in rejected:
            number = numbers[at]
            n = row_of.get(number - 1)
            if n is not None and self._is_behind(number, moved=n in rows.moved):
                self.tombstones[rows.key[n]].append(number)
            else:
                left.append(number)
        return left

    def _is_behind(self, number: int, *, moved: bool) -> bool:
        """Whether a record is a tombstone of the key that the record before it deletes."""
        landed = self.landed
        if not moved and any(name.startswith(_MOVED) for name, _ in landed.headers[number]):
            return False
        return (
            landed.value[number] is None
            and landed.partition[number] == landed.partition[number - 1]
            and landed.topic_id[number] == landed.topic_id[number - 1]
            and landed.key[number] == landed.key[number - 1]
            and self.typed.is_plain_key(landed.key[number])
        )

    def _sorted_in(self, new: range) -> Iterator[Record]:
        """Adds the rows to those of their keys; the records of keys that are not plain."""
        keys, members, others = self.rows.key, self.members, self.others
        if others:
            for n in new:
                if keys[n] in others:
                    yield self.landed.record(self.rows.record[n])
                else:
                    members.setdefault(keys[n], []).append(n)
        else:
            for n in new:
                own = members.get(keys[n])
                if own is None:
                    members[keys[n]] = [n]
                else:
                    own.append(n)
        self.waiting.update(keys[new.start : new.stop])
        self.waiting -= others
        for key in others & self.tombstones.keys():
            yield from map(self.landed.record, self.tombstones.pop(key))

    def hand_over(self, keys: Iterable[str]) -> list[Record]:
        """The records of these keys, which are not plain from now on."""
        found: list[Record] = []
        for key in keys:
            self.others.add(key)
            self.waiting.discard(key)
            self.standing.pop(key, None)
            found += [self.landed.record(self.rows.record[n]) for n in self.members.pop(key, ())]
            found += map(self.landed.record, self.tombstones.pop(key, ()))
        return found

    # ------------------------------------------------------------------ what the whole table says

    def spanning(self, reads: Iterable[str]) -> set[str]:
        """Keys with changes that reads of a snapshot stand between, whose commit came later."""
        places = sorted({place[len(FIRST_EPOCH) : -16] for place in reads})
        if not places:
            return set()
        rows, last = self.rows, places[-1]
        return {
            key
            for key, own in self.members.items()
            if any(
                rows.major[n] < last
                and rows.op[n] != "r"
                and any(rows.major[n] < place < rows.own[n] for place in places)
                for n in own
            )
        }

    def of_transactions(self, ids: frozenset[str]) -> set[str]:
        """Keys with changes of these transactions."""
        if not ids:
            return set()
        tx_id = self.rows.tx_id
        return {key for key, own in self.members.items() if any(tx_id[n] in ids for n in own)}

    def at(self, majors: Collection[str]) -> set[str]:
        """Keys with changes at these positions, which begin with their epoch."""
        if not majors:
            return set()
        bare, major = {each[len(FIRST_EPOCH) :] for each in majors}, self.rows.major
        return {key for key, own in self.members.items() if any(major[n] in bare for n in own)}

    def first_reads(self, snapshots: Sequence[Snapshot]) -> list[Record]:
        """The first read of each complete snapshot and table, as its record."""
        rows = self.rows
        first: dict[tuple[Snapshot, str], int] = {}
        for n, (emitted, name) in rows.whole.items() if snapshots else ():
            if emitted is None:
                continue
            for snapshot in snapshots:
                if sweep.is_of(snapshot, name, emitted, rows.scope[n]):
                    of = (snapshot, sweep.table(rows.scope[n]))
                    first[of] = min(n, first.get(of, n), key=self._read_order)
        return [self.landed.record(rows.record[n]) for n in first.values()]

    def _read_order(self, n: int) -> tuple[str, int, int]:
        return self.rows.major[n], self.rows.offset[n], self.rows.partition[n]

    # ------------------------------------------------------------------ the fold

    def fold(
        self,
        columns: Mapping[str, ColumnType],
        tracked: Sequence[str],
        fences: Fences,
        connector: Connector,
        since: str | None,
    ) -> list[str]:
        """Folds what arrived onto what stands; the keys that turn out not to be plain.

        `since`: the first position at which fences stand that did not when keys were folded, as a
        major part; None where there is none. A key that went beyond it is folded from all its rows.
        """
        rows = self.rows
        if columns != self.columns or list(tracked) != list(self.tracked):
            rows.cells.clear()
            self.columns, self.tracked = dict(columns), tracked
            self.standing.clear()
        rows.align(columns, self.typed.shapes, tracked)
        keys: Iterable[str] = self.waiting
        if since is not None:
            bare = since[len(FIRST_EPOCH) :]
            for key in [key for key, of in self.standing.items() if of.reach >= bare]:
                del self.standing[key]
        if since is not None or not self.standing:
            keys = self.members
        wanted = {key: self._wanted(key) for key in keys}
        found, others = fold(wanted.items(), rows, self.standing, fences, connector)
        if rows.moved:
            lacking = inherit(found, self.standing)
            others += sorted(lacking & self.members.keys())
            found = {key: of for key, of in found.items() if key not in lacking}
        self.standing.update(found)
        self.waiting = set()
        return others

    def _wanted(self, key: str) -> Sequence[int]:
        """The rows to fold: those that arrived where they go on from what stands, or else all."""
        all_, standing = self.members[key], self.standing.get(key)
        if standing is None:
            return all_
        own = all_[standing.rows :]
        if not own or standing.reach < self.rows.major[own[0]]:
            return own
        del self.standing[key]
        return all_

    @property
    def absorbed(self) -> int:
        """How many tombstones added nothing to the delete before them."""
        return sum(map(len, self.tombstones.values()))

    @property
    def changes(self) -> int:
        """How many changes the plain keys have."""
        return sum(map(len, self.members.values()))

    @property
    def keys_standing(self) -> Mapping[Identity, str]:
        """Under each form of key the place of the row that stands and was changed longest ago."""
        return keys_standing(self.standing.values(), self.rows, self.typed.shapes)

    def made(self, key: str) -> list[Made]:
        """The versions of a key, in order."""
        of = self.standing[key]
        return of.versions if of.open is None else [*of.versions, of.open]


_MOVED = "__debezium.newkey"
