"""A shard: some groups of a table, folded apart from its others; many tasks so make one history.

What a run does to a table in one process (`strandline.law.continuation`), tasks do to its parts. A
*reader* tells of some records where they belong and what they say. The facts that all readers tell
are one, and with those each *shard* is folded: the groups whose records have names in common. What
only shards can tell, that something came twice, say, may ask for another round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from strandline.cells.instants import micros
from strandline.changes.change import Quarantined
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.connectors import Connector
from strandline.formats.schema_history import SchemaHistory
from strandline.law import corrections, group
from strandline.law.continuation import (
    Announced,
    Shown,
    entries_of_others,
    history_of,
    lowest,
    shown_by,
)
from strandline.law.decode.general import NEW_KEY, Decoder, Kin
from strandline.law.decode.typed import Typed
from strandline.law.facts import NONE, Facts
from strandline.law.group import Doubts, repetition
from strandline.law.landed import Headers, Landed
from strandline.law.plain.transit import Transit, packed
from strandline.law.records import written_alike
from strandline.law.table import Table
from strandline.law.versions import Versions
from strandline.runs.receipt import Counts


@dataclass(frozen=True, slots=True)
class Making:
    """How a table is made that has no records yet, wherever it is needed.

    Doubts are told, not held: which is the first one only the whole table knows.
    """

    topic: str
    connector: Connector | None
    rules: TableRules
    recorded_at: datetime

    def __call__(self, history: SchemaHistory) -> Table:
        """The table, in the light of what DDL said."""
        return self._table(replace(self.rules, hold_regress=False), history)

    def holding(self, history: SchemaHistory) -> Table:
        """The same, where the whole table is in one place: it stops where its rules hold it."""
        return self._table(self.rules, history)

    def _table(self, rules: TableRules, history: SchemaHistory) -> Table:
        return Table.of(self.topic, Decoder(self.connector, rules, history), self.recorded_at)


@dataclass(frozen=True, slots=True)
class Known:
    """What every part of a table has to know; `twice` is that of `Table`."""

    making: Making
    announced: Announced
    facts: Facts = NONE
    twice: frozenset[str] = frozenset()

    def table(self) -> Table:
        """The table, of which everything is known, and no record is here."""
        table = self.making(self.announced.history)
        table.twice = self.twice
        table.records.facts = self.facts
        table.run(range(0), self.announced.history, self.announced.snapshots)
        return table

    @property
    def moment(self) -> int:
        """When versions are recorded, in microseconds since 1970."""
        return micros(self.making.recorded_at)

    @property
    def view(self) -> group.Table:
        """What every group goes by; `Terminal` where the table has to stop."""
        table = self.table()
        return table.view(table.surveyed())

    @property
    def counts(self) -> Counts:
        """What is counted of the table as a whole."""
        return self.table().counted_of_facts(self.facts)

    def with_facts(self, facts: Facts) -> "Known":
        """The same, with these facts."""
        return replace(self, facts=facts)


@dataclass(frozen=True, slots=True)
class Pile:
    """Records of a table, and those that reconciliations have made, whichever run has brought them.

    `landed` are in order of their places, each once.
    """

    landed: Landed
    corrected: Sequence[Record] = ()

    def __bool__(self) -> bool:
        return bool(len(self.landed) or self.corrected)

    @property
    def records(self) -> Sequence[Record]:
        """All of them, one by one."""
        return [*map(self.landed.record, range(len(self.landed))), *self.corrected]

    def onto(self, known: Known) -> Table:
        """The table with these records."""
        return self.put_on(known.table(), known)

    def put_on(self, table: Table, known: Known) -> Table:
        """A table that has none, with these records."""
        table.plain.landed = self.landed
        table.run(range(len(self.landed)), known.announced.history, known.announced.snapshots)
        table.correct(map(corrections.read, self.corrected))
        return table


@dataclass(frozen=True, slots=True)
class Read:
    """What records say, an entry of each list for each of them, as in `continuation.Entry`.

    `refused` are those that cannot be read, by their number. `lowest` is the first position of
    their changes, behind all others where there is none. `transit` is what is folded elsewhere.
    """

    keys: Sequence[str | None]
    others: Sequence[str | None]
    links: Sequence[str | None]
    refused: Mapping[int, Quarantined]
    facts: Facts
    lowest: str
    transit: Transit | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads records of a table; it keeps what it has learned of how they are written.

    `view`: what rows are put into the columns of that are to be folded elsewhere; None: none are.
    """

    known: Known
    typed: Typed
    view: group.Table | None = None

    @staticmethod
    def of(known: Known, *, hands_on: bool = False) -> "Reader":
        """One for a table of which this is known; `hands_on`: its rows are folded elsewhere."""
        view = known.view if hands_on else None
        return Reader(known, Typed(known.table().records.decoder), view)

    def read(self, landed: Landed) -> Read:
        """What these records say, in the light of what is known of their table."""
        table = self.known.table()
        table.plain.typed = self.typed
        table = Pile(landed).put_on(table, self.known)
        keys, others, links = _entries(table)
        refused: dict[int, Quarantined] = {}
        if table.records.landed:
            left = (n for n, key in enumerate(keys) if key is None)
            numbers = {landed.at(n): n for n in left}
            for at, entry in entries_of_others(table).items():
                n = numbers[at]
                keys[n], others[n], links[n] = entry.key, entry.other, entry.link
            refused = {numbers[at]: each for at, each in table.records.refused.items()}
        joined = any(each is not None for each in (*others, *links))
        facts = _told(table.surveyed(), self.known.facts) + Facts(joined=joined)
        transit = None if self.view is None else self._transit(table, landed, self.view)
        return Read(keys, others, links, refused, facts, lowest(table), transit)

    def _transit(self, table: Table, landed: Landed, view: group.Table) -> Transit:
        rows = table.plain.rows
        rows.align(view.columns, self.typed.shapes, view.shape.tracked)
        tombstones = [
            key if value is None and self._may_follow(key, headers) else None
            for key, value, headers in zip(landed.key, landed.value, landed.headers, strict=True)
        ]
        places = landed.topic_id, landed.partition, landed.offset
        return Transit(*places, packed(rows, landed), tombstones)

    def _may_follow(self, key: bytes | None, headers: Headers) -> bool:
        """Whether a tombstone adds nothing to the delete before it, if one of these bytes is."""
        moves = any(name.startswith(NEW_KEY) for name, _ in headers)
        return not moves and self.typed.is_plain_key(key)


_Names = list[str | None]


def _entries(table: Table) -> tuple[_Names, _Names, _Names]:
    """The names of records that the typed decoder has read."""
    plain, rows = table.plain, table.plain.rows
    count = len(plain.landed)
    keys, others, links = _Names([None] * count), _Names([None] * count), _Names([None] * count)
    for number, key in zip(rows.record, rows.key, strict=True):
        keys[number] = key
    for n, (other, _) in rows.moved.items():
        others[rows.record[n]] = other
    for key, numbers in plain.tombstones.items():
        for number in numbers:
            keys[number] = key
    return keys, others, links


def _told(facts: Facts, known: Facts) -> Facts:
    """What part of the table has told, but for what only all of it, or each group, knows."""
    return replace(facts, halves={}, shared=known.shared, rewound=known.rewound)


def is_read(before: Facts, after: Facts) -> bool:
    """Whether records that were read by the one would be read the same by the other."""
    return _kin(before) == _kin(after) and before.open == after.open and before.reads == after.reads


def lie_alike(before: Known, after: Known) -> bool:
    """Whether rows that were put into columns by the one lie there as by the other."""
    was, now = before.view, after.view
    return [*was.columns.items()] == [*now.columns.items()]


def _kin(facts: Facts) -> Kin:
    return Kin(facts.scopes, written_alike(facts))


@dataclass(frozen=True, slots=True)
class Told:
    """What shards tell of their table, which is what one shard of all their groups would tell.

    `counts` are of what the run has changed in records, and `orphans` in halves of moves that wait
    for the other; `waiting` is how many do now. `twice` are positions at which something came
    twice, `claims` those of `repetition` at the known ones. `error`: why the table stops.
    """

    counts: Counts = field(default_factory=Counts)
    orphans: int = 0
    waiting: int = 0
    doubts: Doubts = group.NO_DOUBTS
    facts: Facts = NONE
    twice: frozenset[str] = frozenset()
    claims: Mapping[str, frozenset[str]] = field(default_factory=dict)
    error: str | None = None

    def __add__(self, other: "Told") -> "Told":
        """What both tell."""
        claims = dict(self.claims)
        for place, own in other.claims.items():
            claims[place] = claims.get(place, frozenset()) | own
        return Told(
            self.counts + other.counts,
            self.orphans + other.orphans,
            self.waiting + other.waiting,
            group.first_doubts((self.doubts, other.doubts)),
            self.facts + other.facts,
            self.twice | other.twice,
            claims,
            min((each for each in (self.error, other.error) if each is not None), default=None),
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """The versions of some groups, and what else they came to."""

    versions: Versions
    told: Told


def derived(now: Known, every: Pile, before: Known, known: Pile) -> Shard:
    """Folds a shard from `every` record of its groups; `known` are those that had been there.

    Raises `Terminal` where the table has to stop.
    """
    table = every.onto(now)
    found, keys = history_of(table)
    counts, orphans = _counts(table, found.counts), found.orphaned_moves
    if known:
        was = known.onto(before)
        old, _ = history_of(was)
        counts -= _counts(was, old.counts) - _nowhere(was)
        orphans -= old.orphaned_moves
    context = table.context or now.view
    shares = context.connector is not None and context.connector.shares
    changes = [row.change for row in table.records.rows.values()] if shares else []
    assert isinstance(found.versions, Versions)  # noqa: S101 - as every table that did not stop
    unseen = len(keys) > len(found.keys)
    facts = _told(context.facts, now.facts) + Facts(unseen=unseen)
    told = Told(
        counts,
        orphans,
        found.orphaned_moves,
        table.doubts,
        NONE if facts == now.facts else facts,
        repetition.suspects(changes),
        repetition.claims(changes, now.twice),
    )
    return Shard(found.versions, told)


def shown(known: Known, every: Pile) -> Mapping[str, Shown]:
    """The last place that each key of some groups has shown, of which these are all records."""
    table = every.onto(known)
    members = list(table.plain.members)
    table.waiting |= table.records.add(table.plain.hand_over(members))
    history_of(table)
    return {key: shown_by(key, of) for key, of in table.groups.items()}


def _nowhere(table: Table) -> Counts:
    """What is counted of records that have no key: readers count those, shards have none of them.

    One that could not be read in the light of what was known before may have a key now.
    """
    count = sum(each.key is None for each in table.records.refused.values())
    return Counts(landed=count, quarantined=count)


def _counts(table: Table, counts: Counts) -> Counts:
    """What is counted of the keys that are here."""
    facts = table.context.facts if table.context else table.records.facts
    own = counts - table.counted_of_facts(facts)
    return replace(own, rows_written=0, rows_closed=0, history_rows=0, current_rows=0)
