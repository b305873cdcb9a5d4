"""The law for one group: keys that have something to say about each other, and all their changes.

A key is a group by itself, but for keys that moves join. distinct → link → fold, a module each;
what the group has to know of the rest of its table comes as facts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from strandline.cells import widening
from strandline.cells.types import ANY, ColumnType
from strandline.changes.change import Change, Fence, Quarantined
from strandline.changes.rekeyed import Identity
from strandline.changes.rules import TableRules
from strandline.changes.version import Version
from strandline.connectors import Connector
from strandline.law.decode.general import Decoded
from strandline.law.doubts import lineage, rekeyed
from strandline.law.doubts.lineage import Doubt
from strandline.law.doubts.servers import mixed
from strandline.law.doubts.unordered import unordered
from strandline.law.facts import Facts
from strandline.law.group.distinct import Distinct, distinct
from strandline.law.group.fold import Shape, fold
from strandline.law.group.in_flight import by_own_position
from strandline.law.group.link import Habits, Linked, link
from strandline.law.group.moves import Moves, moved

# Why a table may not be trusted, the gravest first: rows of several servers, changes that nothing
# orders, positions that go back. Of each kind the first record that shows it.
Doubts = tuple[Doubt | None, Doubt | None, Doubt | None]
NO_DOUBTS: Doubts = (None, None, None)


@dataclass(frozen=True, slots=True)
class Table:
    """What a group has to know of its table.

    `columns` are the business columns in their order, `fences` the truncates and sweeps in theirs,
    `moves` those that no header announces. `recorded_at` is the time that versions get.
    """

    columns: Mapping[str, ColumnType]
    facts: Facts
    fences: Sequence[Fence]
    moves: Moves
    rules: TableRules
    recorded_at: datetime

    @property
    def connector(self) -> Connector | None:
        """Who sent the table's rows."""
        return self.facts.connector

    @property
    def habits(self) -> Habits:
        """How that connector reports what is linked."""
        of = self.connector
        if of is None:
            return Habits()
        return Habits(of.shifts, of.reads_last, of.full_before, of.shares_fences, of.packs)

    @property
    def shape(self) -> Shape:
        """What versions are made of, and which columns make them."""
        names = tuple(self.columns)
        json = frozenset(name for name, of in self.columns.items() if of.is_json)
        dialect = ANY if self.connector is None else self.connector.dialect
        return Shape(names, self.rules.tracked(names), json, dialect)


@dataclass(frozen=True, slots=True)
class Derived:
    """What became of a group: its versions by key, and how its deliveries count.

    `standing` are the places of rows that stand, by the form of their key. `changes` are all its
    deliveries where they have their places; these, `found` and `linked` are for those who explain.
    """

    versions: Mapping[str, Sequence[Version]]
    standing: Mapping[Identity, str]
    doubts: Doubts
    orphans: int
    changes: Sequence[Change] = field(repr=False)
    found: Distinct = field(repr=False)
    linked: Linked = field(repr=False)


def settled(row: Decoded, facts: Facts) -> Change:
    """The change at the place that it has, now that its table is known."""
    return by_own_position(row.change, facts.open)


def derive(rows: Iterable[Decoded], refused: Iterable[Quarantined], table: Table) -> Derived:
    """The history of a group from all deliveries of its keys; `refused` are in quarantine."""
    connector, habits = table.connector, table.habits
    changes = [_settled(row, table) for row in rows]
    found = distinct(
        changes,
        refused,
        table.facts,
        shares=connector is not None and connector.shares,
        shifts=habits.shifts,
    )
    linked = link((moved(change, table.moves) for change in found.changes), table.fences, habits)
    versions: dict[str, list[Version]] = {}
    for version in fold(linked, table.shape, table.recorded_at):
        versions.setdefault(version.key, []).append(version)
    return Derived(
        versions=versions,
        standing=rekeyed.standing(life for stays in linked.lives.values() for life in stays),
        doubts=_doubts(found, linked, table),
        orphans=linked.orphans,
        changes=changes,
        found=found,
        linked=linked,
    )


def _doubts(found: Distinct, linked: Linked, table: Table) -> Doubts:
    newest = table.connector is not None and table.connector.reads_newest
    return (
        mixed(found.changes, linked.lives),
        unordered(found.changes) if table.rules.key else None,
        lineage.regress(found.changes, reads_newest=newest),
    )


def first_doubts(doubts: Iterable[Doubts]) -> Doubts:
    """Of each kind the first."""
    kinds = zip(*doubts, strict=True)
    found = [min((each for each in kind if each is not None), default=None) for kind in kinds]
    return (found[0], found[1], found[2]) if found else NO_DOUBTS


def _settled(row: Decoded, table: Table) -> Change:
    change = settled(row, table.facts)
    if change.row is None or _fits(row.columns, change.row, table.columns):
        return change
    cells = {
        name: widening.widen(value, row.columns.get(name), table.columns[name])
        for name, value in change.row.items()
        if name in table.columns
    }
    return replace(change, row=cells)


def _fits(
    types: Mapping[str, ColumnType], cells: Iterable[str], columns: Mapping[str, ColumnType]
) -> bool:
    """Whether the cells have the types of the table's columns already: most do, and soon shown."""
    return all(name in types and types[name] is columns.get(name) for name in cells)
