"""A run that goes on from what is on record of its table, instead of from all that ever landed.

What is on record are the table's landed records by key, and the facts of the runs before. A run
takes from it the records of the groups that it touches, and derives these anew. Where it learns
something that may change any group, a truncate say, or another type of a column, it takes all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Protocol

from strandline.changes.change import IMAGES, Op, Quarantined
from strandline.changes.position import FIRST_EPOCH, major_of
from strandline.changes.record import Coordinates, Record
from strandline.errors import Terminal
from strandline.formats.notification import Snapshot
from strandline.formats.schema_history import SchemaHistory
from strandline.law import corrections, group
from strandline.law.facts import NONE, Facts
from strandline.law.group import repetition
from strandline.law.plain.continued import Onward
from strandline.law.records import written_alike
from strandline.law.table import Table, TableHistory
from strandline.runs.receipt import Counts


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a record is found again: under its key, the other key of its move, and its place.

    `key` is None of a record that has none, `other` but for a half of a move, `link` where the
    halves of moves are only known by the place that they share (`Position.link`).
    """

    key: str | None = None
    other: str | None = None
    link: str | None = None


# A record, and where it is found again.
Entered = tuple[Record, Entry]

NOWHERE = Entry("")  # of a record that is not on record yet: no key is empty


@dataclass(frozen=True, slots=True)
class Announced:
    """What the stream has announced to all of its tables."""

    history: SchemaHistory
    snapshots: Sequence[Snapshot]


class OnRecord(Protocol):
    """What the runs before have left of a table; `facts` None: there was none."""

    @property
    def facts(self) -> Facts | None:
        """What the runs before knew."""

    @property
    def announced(self) -> Announced:
        """What had been announced to them."""

    def of(self, keys: AbstractSet[str], links: AbstractSet[str]) -> Iterable[Entered]:
        """The records of which the entry names one of these, in any place."""

    def every(self) -> Iterable[Entered]:
        """All of the table's records."""

    def named(self, keys: AbstractSet[str], others: AbstractSet[str]) -> AbstractSet[str]:
        """Of `keys` those that a record is of, of both those that one names beside its own."""


@dataclass(frozen=True, slots=True)
class NotEntered:
    """On record of a table of which no run has noted anything: a run reads all of the records."""

    announced: Announced
    records: Iterable[Record] = ()
    facts: None = None

    def of(self, keys: AbstractSet[str], links: AbstractSet[str]) -> Iterable[Entered]:
        """See `OnRecord`; none is entered under any name."""
        del keys, links
        return ()

    def every(self) -> Iterable[Entered]:
        """See `OnRecord`."""
        return ((record, NOWHERE) for record in self.records)

    def named(self, keys: AbstractSet[str], others: AbstractSet[str]) -> AbstractSet[str]:
        """See `OnRecord`; nobody knows."""
        return keys | others


Made = Callable[[SchemaHistory], Table]
_BEHIND_ALL = "~"  # of positions, which are hexadecimal digits
_HALVES = frozenset({Op.CREATE, Op.DELETE})


@dataclass(frozen=True, slots=True)
class Run:
    """What a run came to.

    `found` has all versions of the `keys` that it has looked at; other keys keep theirs. `counts`
    are of what this run has changed: of records that arrived, and of those that count otherwise
    now. Of the records at the places that it has `read`, `refused` are those that belong into
    quarantine. `facts` are for the run after it, and `entered` is to be put on record: what
    arrived, and what is found under other names now. `whole`: it has looked at all keys. `onward`
    are the versions of keys that went on from their last ones, of which `found` knows nothing.
    """

    found: TableHistory
    keys: frozenset[str]
    counts: Counts
    orphaned_moves: int
    facts: Facts
    entered: Sequence[Entered]
    read: AbstractSet[Coordinates]
    refused: Sequence[tuple[Record, Quarantined]]
    whole: bool = False
    onward: Onward | None = None


def run(made: Made, known: OnRecord, arrived: Sequence[Record], now: Announced) -> Run:
    """Folds what arrived onto what is on record; `made` makes the table without any records.

    Raises `Terminal` where the table has to stop.
    """
    own = {record.at for record in arrived}  # an attempt before may have put them on record
    if known.facts is not None and known.announced == now:
        table = made(now.history)
        table.records.facts = known.facts
        touched = _touched(made, known, known.facts, arrived, now)
        take_up(table, (record for record, _ in touched if record.at not in own), now)
        was, found = _onto(table, arrived, now)
        if not _may_touch_any(was, table, own):
            return found
    table = made(known.announced.history)
    every = [(record, entry) for record, entry in known.every() if record.at not in own]
    take_up(table, (record for record, _ in every), known.announced)
    _, found = _onto(table, arrived, now)
    entries = entries_of(table)
    renamed = [
        (record, entry)
        for record, of in every
        if (entry := entries.get(record.at, Entry() if of == NOWHERE else of)) != of
    ]
    facts = replace(found.facts, renamed=found.facts.renamed or bool(renamed))
    why = table.records.refused
    refused = [(record, why[record.at]) for record, _ in every if record.at in why]
    return replace(
        found,
        whole=True,
        facts=facts,
        entered=[*found.entered, *renamed],
        read=found.read | {record.at for record, _ in every},
        refused=[*found.refused, *refused],
    )


def _touched(
    made: Made, known: OnRecord, facts: Facts, arrived: Sequence[Record], now: Announced
) -> Iterable[Entered]:
    """What is on record of the groups that what arrived is of, and of those they hang on."""
    table = made(now.history)
    table.records.facts = facts
    take_up(table, arrived, now)
    return _hanging_on(known, entries_of(table).values())


def _hanging_on(known: OnRecord, entries: Iterable[Entry]) -> Iterable[Entered]:
    """What is on record of the groups that these name."""
    found: dict[Coordinates, Entered] = {}
    keys, links = set[str](), set[str]()
    while True:
        more_keys = {key for of in entries for key in (of.key, of.other) if key} - keys
        more_links = {of.link for of in entries if of.link} - links
        if not more_keys and not more_links:
            return found.values()
        keys, links = keys | more_keys, links | more_links
        more = list(known.of(more_keys, more_links))  # a record may be there under two names
        entries = [entry for _, entry in more]
        found |= {record.at: (record, entry) for record, entry in more}


@dataclass(frozen=True, slots=True)
class Shown:
    """The last position that a key has shown, and the physical table of its row."""

    seq: str
    scope: str | None


def shown(
    made: Made, known: OnRecord, keys: AbstractSet[str], now: Announced
) -> Mapping[str, Shown]:
    """What is known of these keys; nothing of those that no record names."""
    table = made(now.history)
    if known.facts is not None and known.announced == now:
        table.records.facts = known.facts
        records = _hanging_on(known, [Entry(key) for key in sorted(keys)])
    else:
        records = known.every()
    take_up(table, (record for record, _ in records), now)
    table.waiting |= table.records.add(table.plain.hand_over(keys & table.plain.members.keys()))
    history_of(table)
    return {key: shown_by(key, table.groups[key]) for key in sorted(keys & table.groups.keys())}


def shown_by(key: str, of: group.Derived) -> Shown:
    """What a key of a group has shown."""
    own = [change for change in of.found.changes if change.key == key]
    ends = (life.end for life in of.linked.lives.get(key, ()))
    seqs = [change.seq for change in own] + [end.seq for end in ends if end is not None]
    images = [c for c in own if c.op in IMAGES and c.scope is not None]
    last = max(images, key=lambda change: change.seq, default=None)
    return Shown(max(seqs, default=""), None if last is None else last.scope)


def take_up(table: Table, records: Iterable[Record], announced: Announced) -> None:
    """Hands the table records, of which some may be corrections."""
    landed, corrected = list[Record](), list[Record]()
    for record in records:
        (corrected if corrections.is_correction(record.at) else landed).append(record)
    table.run(table.plain.landed.add(landed), announced.history, announced.snapshots)
    table.correct(map(corrections.read, corrected))


def _onto(
    table: Table, arrived: Sequence[Record], now: Announced
) -> tuple[group.Table | None, Run]:
    """Folds what arrived onto the table's records; what was known of the table before that, too."""
    before, keys_before = history_of(table)
    was = table.context
    take_up(table, arrived, now)
    after, keys = history_of(table)
    entries, refused = entries_of(table), table.records.refused
    facts = carried(table.context.facts if table.context else NONE) + Facts(
        unseen=len(keys) > len(after.keys),
        joined=any(of.other or of.link for of in entries.values()),
    )
    return was, Run(
        found=after,
        keys=keys_before | keys,
        counts=after.counts - before.counts,
        orphaned_moves=after.orphaned_moves - before.orphaned_moves,
        facts=facts,
        entered=[(record, entries.get(record.at, Entry())) for record in arrived],
        read={record.at for record in arrived},
        refused=[(record, refused[record.at]) for record in arrived if record.at in refused],
    )


def history_of(table: Table) -> tuple[TableHistory, frozenset[str]]:
    """What the table has come to, and the keys that it knows; `Terminal` where it stops."""
    found = table.history()
    if found.error is not None:
        raise Terminal(found.error)
    return found, frozenset({*table.groups, *table.plain.standing})


def _may_touch_any(
    was: group.Table | None, table: Table, arrived: AbstractSet[Coordinates]
) -> bool:
    """Whether a run has learned what may change groups of the table that it has not looked at."""
    now = table.context
    if was is None or now is None or may_touch_any(was, now, lowest(table, arrived)):
        return True
    if now.connector is None or not now.connector.shares:
        return False
    changes = (row.change for row in table.records.rows.values())
    # Whether what came twice happened twice is told by what else is at its position.
    return bool(repetition.suspects(changes))


def may_touch_any(was: group.Table, now: group.Table, lowest: str) -> bool:
    """The same by what is known of the table; `lowest` is the first position that arrived."""
    return was.fences != now.fences or may_differ(was, now, lowest)


def may_differ(was: group.Table, now: group.Table, lowest: str) -> bool:
    """Whether keys may be other ones by more than the fences that end their rows."""
    if _shared_view(was) != _shared_view(now):
        return True
    if len({columns for _, columns in now.facts.latest}) > 1:
        return True  # the rows of a form of key that the table has no more may stand anywhere
    shares = now.connector is not None and now.connector.shares
    return shares and lowest <= was.facts.repeated


def lowest(table: Table, arrived: AbstractSet[Coordinates] | None = None) -> str:
    """The first position of the changes that arrived; behind all positions where there is none.

    None: all changes of the table did.
    """
    plain, rows = table.plain, table.records.rows
    majors: Iterable[str] = plain.rows.major
    if arrived is not None:
        numbers = enumerate(plain.rows.record)
        majors = (plain.rows.major[n] for n, of in numbers if plain.landed.at(of) in arrived)
    places = [FIRST_EPOCH + first for first in [min(majors, default=None)] if first is not None]
    for at, row in rows.items():
        if (arrived is None or at in arrived) and row.change.seq:
            places.append(major_of(row.change.seq))
    return min(places, default=_BEHIND_ALL)


def _shared_view(of: group.Table) -> tuple[object, ...]:
    """What every group of a table goes by, beside the fences."""
    facts = of.facts
    kin = facts.scopes, written_alike(facts)
    return list(of.columns.items()), of.connector, facts.open, facts.reads, kin


def carried(facts: Facts) -> Facts:
    """What the next run has to know; the rest is found anew in the groups that it looks at."""
    return replace(facts, halves={}, control=frozenset(), shared=frozenset(), rewound=frozenset())


def entries_of(table: Table) -> dict[Coordinates, Entry]:
    """Where the records of a table that are rows, or name a key, are found again."""
    plain, found = table.plain, dict[Coordinates, Entry]()
    landed, rows = plain.landed, plain.rows
    for n, number in enumerate(rows.record):
        other = rows.moved[n][0] if n in rows.moved else None
        found[landed.at(number)] = Entry(rows.key[n], other)
    for key, numbers in plain.tombstones.items():
        found |= {landed.at(number): Entry(key) for number in numbers}
    return found | entries_of_others(table)


def entries_of_others(table: Table) -> dict[Coordinates, Entry]:
    """The same of those that the general decoder has read."""
    found = {at: Entry(each.key) for at, each in table.records.refused.items()}
    connectors = table.records.facts.connectors
    infers = any(connector.infers_moves for connector in connectors)
    for at, row in table.records.rows.items():
        change = row.change
        is_half = infers and change.op in _HALVES and change.position is not None
        link = change.position.link if is_half and change.position else None
        found[at] = Entry(change.key, change.moved_to or change.moved_from, link or None)
    return found
