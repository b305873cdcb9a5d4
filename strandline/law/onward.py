"""Plain keys that go on from their last versions: what arrived is folded onto what stands.

That needs nothing of what is on record, so a run costs what arrived. What is not plain, or not
surely newer than all that its key has seen, is *left*: those keys are derived from their records.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from strandline.changes.position import FIRST_EPOCH
from strandline.law import group
from strandline.law.plain import heads
from strandline.law.plain.continued import Heads, Held, Onward
from strandline.law.plain.fold import SEQ_FROM, SEQ_TO, Fences, Made, Standing, fold
from strandline.law.plain.rows import Rows
from strandline.law.plain.transit import Transit
from strandline.law.shard import Known
from strandline.law.versions import as_columns

_NO_FENCES = Fences((), (), frozenset(), ())


@dataclass(frozen=True, slots=True)
class Piece:
    """Records that are sorted by key, and then in order of their places; `keys` are theirs.

    `heads` are the last versions of those keys that begin here. `goes_on`: there is one key only,
    and the next piece begins with more of it.
    """

    heads: Heads
    records: Transit
    keys: Sequence[str]
    goes_on: bool = False


@dataclass(slots=True)
class Runner:
    """What a task goes on with.

    `since` is the first position at which a fence stands that did not before, as a major part.
    """

    known: Known
    view: group.Table
    fences: Fences | None
    since: str | None

    @staticmethod
    def of(known: Known, since: str | None) -> "Runner":
        """One for a table."""
        view = known.view
        return Runner(known, view, Fences.of(view.fences), since)

    def run(self, pieces: Iterable[Piece]) -> Iterator[Onward]:
        """What becomes of the keys, piece by piece: however many records a key has, few are held.

        A key that is left may have versions in pieces before: they are not to be used.
        """
        held: Held | None = None
        for piece in pieces:
            heads_of = piece.heads
            if held is not None and held.last is not None:
                heads_of = heads_of.with_others(held.last)
            lost = {held.key} if held is not None and held.last is None else set[str]()
            made = self._folded(heads_of, piece.records, piece.keys, lost)
            if held is not None:
                made.credit(held)
            held = made.held_back(piece.keys[-1]) if piece.goes_on else None
            yield made

    def _folded(
        self, heads_of: Heads, records: Transit, keys: Sequence[str], lost: Collection[str]
    ) -> Onward:
        connector, left = self.view.connector, set(lost)
        rows = Rows()
        if connector is not None:
            rows.reads_last, rows.dialect = connector.reads_last, connector.dialect
        standing = self._standing(heads_of, rows, left)
        if not self._goes_on or connector is None:
            return _nothing(rows, tuple(self.view.columns), {*keys, *standing} | left)
        if connector.infers_moves:
            left |= set(keys)
        rows.align(self.view.columns, (), self.view.shape.tracked)
        new, deletes = records.unpacked(keys, rows)
        absorbed = _behind_deletes(records, keys, deletes, left)
        members: dict[str, list[int]] = {}
        for n in new:
            members.setdefault(rows.key[n], []).append(n)
        left |= self._not_plain(rows, members, standing)
        wanted = {key: own for key, own in members.items() if key not in left}
        if self.since is not None:
            wanted |= {
                key: []
                for key, of in standing.items()
                if of.open is not None and key not in left and key not in wanted
            }
        fences = self.fences or _NO_FENCES
        found, others = fold(wanted.items(), rows, standing, fences, connector)
        left.update(others)
        made = {key: of for key, of in found.items() if key not in left}
        recorded = dict(zip(heads_of.fields["key"], heads_of.recorded, strict=True))
        return self._told(made, standing, rows, members, absorbed, recorded, left)

    @property
    def _goes_on(self) -> bool:
        """Whether keys of the table may be plain, by what is known of all of it."""
        facts = self.view.facts
        forms = {columns for _, columns in facts.latest}
        return self.fences is not None and not facts.shared and len(forms) < 2

    def _standing(self, of: Heads, rows: Rows, left: set[str]) -> dict[str, Standing]:
        found: dict[str, Standing] = {}
        names_of = of.fields.keys()
        for n, key in enumerate(of.fields["key"]):
            fields = {name: of.fields[name][n] for name in names_of}
            cells = [column[n] for column in of.business]
            stands = heads.standing(of.seen[n], fields, cells, rows)
            if stands is None:
                left.add(key)
            else:
                found[key] = stands
        return found

    def _not_plain(
        self, rows: Rows, members: Mapping[str, list[int]], standing: Mapping[str, Standing]
    ) -> set[str]:
        """Keys of which something is to be found out, or that are not surely newer."""
        facts = self.view.facts
        left = {rows.key[n] for n in rows.moved} | {other for other, _ in rows.moved.values()}
        reads = sorted({place[len(FIRST_EPOCH) : -16] for place in facts.reads})
        twice = {each[len(FIRST_EPOCH) :] for each in self.known.twice}
        for key, own in members.items():
            of = standing.get(key)
            doubtful = (
                of is not None and of.reach >= rows.major[own[0]],
                bool(facts.open) and any(rows.tx_id[n] in facts.open for n in own),
                bool(reads) and any(_spans(rows, n, reads) for n in own),
                bool(twice) and any(rows.major[n] in twice for n in own),
            )
            if any(doubtful):
                left.add(key)
        if self.since is not None:
            bare = self.since[len(FIRST_EPOCH) :]
            left |= {key for key, of in standing.items() if of.reach >= bare}
        return left

    def _told(  # noqa: PLR0913, PLR0917 - what the stream has come to
        self,
        made: Mapping[str, Standing],
        standing: Mapping[str, Standing],
        rows: Rows,
        members: Mapping[str, list[int]],
        absorbed: Mapping[str, int],
        recorded: Mapping[str, int | None],
        left: set[str],
    ) -> Onward:
        versions: list[tuple[str, Made]] = []
        told = Onward({}, {}, left=left)
        for key in sorted(made):
            of, before = made[key], standing.get(key)
            own = of.versions if of.open is None else [*of.versions, of.open]
            first = None if before is None else _head(before)
            versions += [(key, each) for each in own]
            told.is_last += [False] * len(own)
            told.seen += [None] * len(own)
            told.recorded += [None] * len(own)
            if own:
                told.is_last[-1], told.seen[-1] = True, heads.seen(of)
                told.recorded[-1] = recorded[key] if own[-1] == first else None
            told.keys.append(key)
            told.stood.append(None if first is None else first[SEQ_FROM])
            told.was_open.append(first is not None and first[SEQ_TO] is None)
            told.changes.append(len(members.get(key, ())))
            told.absorbed.append(absorbed.get(key, 0))
        names_of = tuple(self.view.columns)
        told.fields, told.business = as_columns(versions, rows, names_of, {})
        return told


def _head(of: Standing) -> Made:
    return of.versions[-1] if of.open is None else of.open


def _behind_deletes(
    records: Transit, keys: Sequence[str], deletes: Mapping[int, bytes], left: set[str]
) -> dict[str, int]:
    """Counts tombstones that add nothing to the delete before them; leaves what is unclear."""
    absorbed: dict[str, int] = {}
    partition, topic_id = records.partition, records.topic_id
    for at, row in enumerate(records.row):
        if row is not None:
            continue
        key, own = keys[at], records.tombstone[at]
        is_behind = (
            own is not None
            and deletes.get(at - 1) == own
            and keys[at - 1] == key
            and partition[at] == partition[at - 1]
            and topic_id[at] == topic_id[at - 1]
        )
        if is_behind:
            absorbed[key] = absorbed.get(key, 0) + 1
        else:
            left.add(key)
    return absorbed


def _nothing(rows: Rows, columns: Sequence[str], left: Collection[str]) -> Onward:
    fields, business = as_columns((), rows, columns, {})
    return Onward(fields, business, left=set(left))


def _spans(rows: Rows, n: int, reads: Sequence[str]) -> bool:
    """Whether reads stand between the commit before a change and its own place."""
    return rows.op[n] != "r" and any(rows.major[n] < place < rows.own[n] for place in reads)
