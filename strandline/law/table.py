"""One table, run after run: what arrived is decoded, and the groups that it touches are folded.

A run derives anew the groups whose result may differ: those with records of the run, those of rows
that have another place or another partner now, those that a fence may end which was not there
before. All other keys keep their versions.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime

from strandline.cells.types import ColumnType
from strandline.changes import merged
from strandline.changes.change import Change, Fence, Quarantined
from strandline.changes.key import names
from strandline.changes.lineage import held
from strandline.changes.position import major_of
from strandline.changes.rules import TableRules
from strandline.changes.version import Version
from strandline.errors import Terminal
from strandline.formats import notification
from strandline.formats.notification import Snapshot
from strandline.formats.schema_history import SchemaHistory
from strandline.law import group
from strandline.law.decode.general import Decoded, Decoder
from strandline.law.doubts import rekeyed
from strandline.law.facts import Facts
from strandline.law.facts.survey import columns_of, survey
from strandline.law.group import Derived, Doubts, in_flight, moves, repetition, sweep
from strandline.law.group.distinct import Distinct, first_fences
from strandline.law.group.edges import edges, joined
from strandline.law.group.fold import Shape
from strandline.law.group.link import Linked, ordered
from strandline.law.plain.fold import Fences
from strandline.law.plain.keys import PlainKeys
from strandline.law.records import Records
from strandline.law.versions import Versions
from strandline.runs.receipt import Counts


@dataclass(frozen=True, slots=True)
class Stages:
    """What each stage handed to the next, for those who explain a history.

    `changes` and `fences` are all deliveries, `found` and `truncates` the first ones. `decoder` is
    that of the topic, `shape` what the fold compared by.
    """

    decoder: Decoder
    changes: Sequence[Change]
    fences: Sequence[Fence]
    found: Distinct
    truncates: Sequence[Fence]
    linked: Linked
    shape: Shape


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What the records of one topic came to. `columns` are the business columns in their order.

    `error`: why the table stopped, and what to do; it has no versions, counts and stages then.
    `regress`: where positions went back, or do not compare, and were taken as they are.
    """

    topic: str
    columns: dict[str, ColumnType]
    versions: Versions | Sequence[Version]
    counts: Counts
    orphaned_moves: int = 0
    error: str | None = None
    regress: str | None = None
    stages: Stages | None = field(default=None, compare=False, repr=False)

    @property
    def keys(self) -> frozenset[str]:
        """Those that have a version."""
        known = self.versions
        if isinstance(known, Versions):
            return known.keys
        return frozenset(version.key for version in known)


@dataclass(slots=True)
class Table:
    """The records of a topic, and what its groups came to.

    `waiting` are keys to derive, `doubts` those of the groups that were. `twice` are positions at
    which something came twice in a part of the table that is not here.
    """

    topic: str
    rules: TableRules
    recorded_at: datetime
    records: Records
    plain: PlainKeys
    waiting: set[str] = field(default_factory=set)
    groups: dict[str, Derived] = field(default_factory=dict)
    snapshots: Sequence[Snapshot] = ()
    context: group.Table | None = None
    doubts: Doubts = group.NO_DOUBTS
    twice: frozenset[str] = frozenset()

    @staticmethod
    def of(topic: str, decoder: Decoder, recorded_at: datetime, *, typed: bool = True) -> "Table":
        """The table that a topic feeds, without any records; not `typed`: see `Stream`."""
        plain = PlainKeys.of(topic, decoder, typed=typed)
        return Table(topic, decoder.rules, recorded_at, Records(decoder), plain)

    def run(self, landed: range, history: SchemaHistory, snapshots: Sequence[Snapshot]) -> None:
        """Takes up what landed for the topic, and what the stream announced since."""
        if history != self.records.decoder.history:
            self._read_anew(history)
        self.snapshots = snapshots
        facts, others = self.plain.add(landed)
        self.records.facts += facts
        self.waiting |= self.records.add(others)

    def correct(self, changes: Iterable[Change]) -> None:
        """Takes up what a reconciliation makes of a snapshot (`strandline.law.corrections`)."""
        self.waiting |= self.records.correct(changes)

    def _read_anew(self, history: SchemaHistory) -> None:
        """Reads all records once more, in the light of another schema history."""
        known = self.records.decoder.history
        decoder = replace(self.records.decoder, history=history)
        self.waiting |= self.records.anew(decoder)
        plain = self.plain
        self.plain = PlainKeys(plain.landed, plain.typed.anew(decoder), others=plain.others)
        if known or plain.rows.record:
            facts, others = self.plain.add(range(len(plain.landed)))
            self.records.facts += facts
            self.waiting |= self.records.add(others)

    def history(self) -> TableHistory:
        """The history of all that has arrived."""
        try:
            return self._folded()
        except Terminal as error:
            return TableHistory(self.topic, {}, [], Counts(), error=str(error))

    def _folded(self) -> TableHistory:
        context = self._context()
        while handed := self._not_plain(context):
            self.waiting |= self.records.add(self.plain.hand_over(handed))
            context = self._context()
        self._derive(context)
        derived = list({id(each): each for each in self.groups.values()}.values())
        regress = self._regress(derived)
        standing = [each.standing for each in derived]
        if len(context.facts.latest) > 1:
            standing.append(self.plain.keys_standing)
        rekeyed.check(context.facts.latest, standing)
        return self._history(context, derived, regress)

    def _not_plain(self, context: group.Table) -> set[str]:
        """Keys that the plain fold cannot take, because of what the whole table says, or it finds.

        What has to be derived as a group with others, stood open at a snapshot, or shares its
        position with something that came twice.
        """
        plain, facts = self.plain, context.facts
        if not plain.members:
            return set()
        fences = Fences.of(context.fences)
        if fences is None or facts.connector is None or facts.shared:
            return set(plain.members)
        found = {row.change.key for row in self.records.rows.values()}
        found |= {each.key for each in self.records.refused.values() if each.key is not None}
        found |= {
            other for pair in edges(self.records.rows.values(), context.moves) for other in pair
        }
        found |= plain.of_transactions(facts.open) | plain.spanning(facts.reads)
        if facts.connector.shares:
            rows = (row.change for row in self.records.rows.values())
            found |= plain.at(self.twice | repetition.suspects(rows))
        found &= plain.members.keys()
        if found:
            return found
        changed = _different(self.context.fences if self.context else (), context.fences)
        since = min((major_of(fence.seq) for fence in changed), default=None)
        tracked = context.shape.tracked
        return set(plain.fold(context.columns, tracked, fences, facts.connector, since))

    # ------------------------------------------------------------------ what the table knows

    def _context(self) -> group.Table:
        return self.view(self.surveyed())

    def surveyed(self) -> Facts:
        """What is known of the table, and what the places of the rows that are here tell."""
        facts = self.records.facts
        rows = list(self.records.rows.values())
        trusted = self._trusted(facts)
        first = [self.records.decoder.decode(r) for r in self.plain.first_reads(trusted)]
        rows += [read for read in first if isinstance(read, Decoded)]
        return survey(facts, rows, trusted)

    def view(self, facts: Facts) -> group.Table:
        """What every group has to know, by these facts.

        Raises `Terminal` where types do not join, or rows of several tables would be one.
        """
        merged.check_connectors(facts.connectors)
        if not self.rules.one_table:
            merged.check(facts.latest)
        columns = columns_of(facts, self._texts(facts), self.rules.renamed_to)
        truncates = first_fences(self._placed(facts))
        swept = list(sweep.sweeps(facts.first, self._trusted(facts)))
        habits = facts.connector
        inferred = moves.inferred(facts.halves) if habits and habits.infers_moves else {}
        return group.Table(
            columns, facts, ordered(truncates, swept), inferred, self.rules, self.recorded_at
        )

    def _placed(self, facts: Facts) -> list[Fence]:
        return [in_flight.by_own_position(fence, facts.open) for fence in facts.fences.values()]

    def _trusted(self, facts: Facts) -> Sequence[Snapshot]:
        if not self.rules.sweep:
            return ()
        tasks = facts.connector is not None and facts.connector.several_tasks
        return notification.trusted(self.snapshots, several_tasks=tasks)

    def _texts(self, facts: Facts) -> frozenset[str]:
        """The columns that the contract wants as texts; how keys are spelled, their schemas say."""
        wanted = self.rules.texts
        if not wanted or not facts.declared:
            return wanted
        shapes = (shape.key for shape in self.plain.typed.shapes)
        told = (columns for _, columns in facts.latest)
        return wanted.difference(*(names(key) for key in self.records.named()), *shapes, *told)

    # ------------------------------------------------------------------ what groups come to

    def _derive(self, context: group.Table) -> None:
        rows, refused = self._by_key()
        touched = self.waiting | self._affected(context, rows)
        pairs = edges(self.records.rows.values(), context.moves)
        for keys in joined(rows.keys() | refused.keys(), pairs):
            if touched.isdisjoint(keys):
                continue
            own = [row for key in keys for row in rows.get(key, ())]
            left = [each for key in keys for each in refused.get(key, ())]
            derived = group.derive(own, left, context)
            self.groups.update(dict.fromkeys(keys, derived))
        for key in touched - rows.keys() - refused.keys():
            self.groups.pop(key, None)  # a nameless record has another key now
        self.waiting, self.context = set(), context

    def _by_key(self) -> tuple[dict[str, list[Decoded]], dict[str, list[Quarantined]]]:
        rows: dict[str, list[Decoded]] = defaultdict(list)
        for row in self.records.rows.values():
            rows[row.change.key].append(row)
        refused: dict[str, list[Quarantined]] = defaultdict(list)
        for each in self.records.refused.values():
            if each.key is not None:
                refused[each.key].append(each)
        return rows, refused

    def _affected(self, now: group.Table, rows: Mapping[str, Sequence[Decoded]]) -> set[str]:
        """The keys whose history may be another one by what is known of the table now."""
        was = self.context
        if was is None or was.connector != now.connector or _retyped(was.columns, now.columns):
            return set(rows)
        changes = [row.change for own in rows.values() for row in own]
        found = _without(changes, now.columns.keys() - was.columns.keys())
        found |= _moved_elsewhere(changes, was.facts, now.facts)
        found |= _sent_again(changes, was.facts, now.facts)
        for link in was.moves.keys() ^ now.moves.keys():
            found |= {*was.moves.get(link, ()), *now.moves.get(link, ())}
        fences = _different(was.fences, now.fences)
        return found | {key for key, of in self.groups.items() if _is_fenced(key, of, fences)}

    # ------------------------------------------------------------------ what is told of it

    def _regress(self, derived: Iterable[Derived]) -> str | None:
        self.doubts = group.first_doubts(each.doubts for each in derived)
        return doubted(self.doubts, self.rules)

    def counted_of_facts(self, facts: Facts) -> Counts:
        """What is counted of the table as a whole, not of its keys: truncates and control."""
        truncates, control = len(first_fences(self._placed(facts))), len(facts.control)
        duplicates = len(facts.fences) - truncates
        return Counts(truncates + duplicates + control, truncates, duplicates, control)

    def _history(
        self, context: group.Table, derived: Sequence[Derived], regress: str | None
    ) -> TableHistory:
        versions = Versions(
            {key: of.versions.get(key, ()) for key, of in self.groups.items()},
            self.plain,
            context.columns,
            self.topic,
            self.recorded_at,
        )
        facts, refused = context.facts, self.records.refused
        truncates = first_fences(self._placed(facts))
        found = [each.found for each in derived]
        shared = self.counted_of_facts(facts)
        applied = sum(len(each.changes) for each in found) + shared.changes + self.plain.changes
        duplicates = sum(each.duplicates for each in found) + shared.duplicates
        control = shared.control + sum(each.absorbed for each in found) + self.plain.absorbed
        return TableHistory(
            self.topic,
            dict(context.columns),
            versions,
            Counts(
                landed=applied + duplicates + control + len(refused),
                changes=applied,
                duplicates=duplicates,
                control=control,
                quarantined=len(refused),
                rows_written=len(versions),
                rows_closed=len(versions) - versions.current,
                history_rows=len(versions),
                current_rows=versions.current,
            ),
            sum(each.orphans for each in derived),
            regress=regress,
            stages=Stages(
                self.records.decoder,
                [change for each in derived for change in each.changes],
                self._placed(facts),
                Distinct(tuple(c for each in found for c in each.changes), 0, 0),
                truncates,
                Linked({k: v for each in derived for k, v in each.linked.lives.items()}, 0),
                context.shape,
            ),
        )


def doubted(doubts: Doubts, rules: TableRules) -> str | None:
    """Why the table may not be trusted; `Terminal` where its rules hold it then."""
    regress = next((doubt[2] for doubt in doubts if doubt is not None), None)
    if regress is not None and rules.hold_regress:
        raise held(regress)
    return regress


def _without(changes: Iterable[Change], names: AbstractSet[str]) -> set[str]:
    """Keys with changes that leave out one of these columns: nobody knows its value."""
    return {c.key for c in changes if not names.isdisjoint(c.unset | c.unheld)} if names else set()


def _retyped(was: Mapping[str, ColumnType], now: Mapping[str, ColumnType]) -> bool:
    """Whether a column has another type than it had."""
    return any(now.get(name) != of for name, of in was.items())


def _moved_elsewhere(changes: Iterable[Change], was: Facts, now: Facts) -> set[str]:
    """Keys with changes of transactions that are known to have been open now."""
    if was.open == now.open and was.reads == now.reads:
        return set()
    return {c.key for c in changes if c.tx_id in now.open or c.in_flight}


def _sent_again(changes: Iterable[Change], was: Facts, now: Facts) -> set[str]:
    """Keys with changes that may count otherwise, by what a rewind has sent again."""
    positions, places = was.shared ^ now.shared, was.rewound ^ now.rewound
    if not positions and not places:
        return set()
    return {c.key for c in changes if c.at in places or major_of(c.seq) in positions}


def _different(was: Sequence[Fence], now: Sequence[Fence]) -> list[Fence]:
    return [f for f in now if f not in was] + [f for f in was if f not in now]


def _is_fenced(key: str, of: Derived, fences: Sequence[Fence]) -> bool:
    """Whether one of these fences may end a row of the key: one that stands, or stood behind it.

    What has ended by a fence may have ended by an earlier one.
    """
    if not fences:
        return False
    lives = of.linked.lives.get(key, [])
    ends = [life.end for life in lives[-1:]]
    known = [c.seq for c in of.found.changes if c.key == key]
    known += [end.seq for end in ends if end is not None]
    seen = major_of(max(known, default=""))
    return None in ends or any(f.local is not None or major_of(f.seq) <= seen for f in fences)
