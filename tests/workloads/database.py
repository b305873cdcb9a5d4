"""A database with random transactions; it keeps the rows and logs what happened to them.

The dialect says what a source's database can do: key updates that collide inside one statement,
truncates inside transactions, set-based updates that are logged as their net effect.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from workloads.choices import Choices
from workloads.model import (
    Key,
    Outcome,
    Row,
    RowChange,
    Scan,
    Snapshot,
    Statement,
    Step,
    Table,
    Transaction,
)

START = 1_790_000_000_000_000  # 2026-09-21T13:46:40Z in microseconds
_SECOND = 1_000_000


@dataclass(frozen=True)
class Dialect:
    """What a database does, as far as its log shows it.

    `truncates`: never, in a transaction of its own, or inside others too. `keys`: how one statement
    may update several keys: not at all through each other; in an order without collisions; through
    each other in tagged tables, row by row; as the net effect per key. `idle`: an update that
    changes nothing is logged. `overlaps`: the log shows that transactions were open together.
    `pairs`: a delete with an insert behind it, in one transaction on one table, shows as an update.
    """

    truncates: Literal["never", "alone", "anywhere"] = "alone"
    keys: Literal["apart", "ordered", "any", "net"] = "apart"
    idle: bool = True
    overlaps: bool = False
    pairs: bool = False


@dataclass
class Database:
    """The rows of every table, by key; methods change them and return what the log says."""

    choices: Choices
    dialect: Dialect
    tables: Sequence[Table]
    now: int = START
    rows: dict[str, dict[Key, Row]] = field(default_factory=dict)
    _tags: int = 0

    def __post_init__(self) -> None:
        self.rows = {table.name: {} for table in self.tables}

    # -------------------------------------------------------------- steps

    def transaction(self, previous: Step | None, group: list[Transaction]) -> Transaction:
        """A transaction; `group` are those that it may overlap with, `previous` the step before."""
        self._pass_time()
        began = self.now
        statements = tuple(self._statements())
        if self.dialect.pairs:
            statements = tuple(_paired(statements))
        committed = max((statement.at for statement in statements), default=began)
        tx = Transaction(statements, began, committed + self.choices.below(3) * 1000)
        in_flight = isinstance(previous, Snapshot) and not _truncates(tx)
        allowed = self.dialect.overlaps and (in_flight or bool(group))
        if allowed and self.choices.chance(2) and _apart(tx, group):
            return Transaction(tx.statements, tx.began, tx.committed, joins=True)
        return tx

    def snapshot(self, outcome: Outcome) -> Snapshot:
        """A snapshot of all tables; one that was not completed may have read a part only."""
        scans = []
        for table in self.tables:
            rows = tuple(self.rows[table.name].values())
            at = self.now + self.choices.below(4) * 700_000
            scans.append(Scan(table, at, rows))
        if outcome in {"aborted", "cut"}:
            scans = list(self._cut_short(scans))
        return Snapshot(tuple(scans), outcome, tuple(self.tables))

    def _cut_short(self, scans: Sequence[Scan]) -> Iterator[Scan]:
        left = self.choices.below(1 + sum(len(scan.rows) for scan in scans))
        for scan in scans:
            yield Scan(scan.table, scan.at, scan.rows[:left])
            left = max(0, left - len(scan.rows))

    def _pass_time(self) -> None:
        """Clocks stand still, go on, and are set back."""
        step = self.choices.pick([1_000, 250_000, 0, _SECOND + 1, 3 * _SECOND, -2 * _SECOND])
        self.now += step

    # -------------------------------------------------------------- statements

    def _statements(self) -> Iterator[Statement]:
        if self.dialect.truncates == "alone" and self.choices.chance(6):
            yield self._truncate(self.choices.some(self.tables, 1, 1))
            return
        for _ in self.choices.times(1, 4):
            yield from self._work(self.choices.pick(self.tables))

    def _work(self, table: Table) -> Iterator[Statement]:
        menu: list[Callable[[Table], Iterator[Statement]]] = [
            self._insert, self._update, self._delete, self._update, self._move, self._insert,
            self._idle, self._reinsert, self._move_onto_deleted, self._chain, self._swap,
            self._move_many, self._shift, self._rotate,
        ]  # fmt: skip
        if self.dialect.truncates == "anywhere":
            menu.append(self._truncate_some)
        made = list(self.choices.pick(menu)(table)) or list(self._insert(table))
        yield from made or self._update(table)

    def _insert(self, table: Table) -> Iterator[Statement]:
        keys = self.choices.some(self._free(table), 1, 3)
        if keys:
            yield self._run([RowChange(table, None, self._new_row(table, key)) for key in keys])

    def _update(self, table: Table) -> Iterator[Statement]:
        changes = []
        for key in self.choices.some(self._live(table), 1, 3):
            row = self.rows[table.name][key]
            changed = self._changed(table, row)
            changes.append(RowChange(table, row, {**row, **changed}, frozenset(changed)))
        yield from self._unless_idle(changes)

    def _idle(self, table: Table) -> Iterator[Statement]:
        for key in self.choices.some(self._live(table), 1, 1):
            row = self.rows[table.name][key]
            yield from self._unless_idle([RowChange(table, row, row, frozenset({"name"}))])

    def _unless_idle(self, changes: list[RowChange]) -> Iterator[Statement]:
        logged = [c for c in changes if self.dialect.idle or c.before != c.after]
        if logged:
            yield self._run(logged)

    def _delete(self, table: Table) -> Iterator[Statement]:
        keys = self.choices.some(self._live(table), 1, 2)
        if keys:
            rows = self.rows[table.name]
            yield self._run([RowChange(table, rows[key], None) for key in keys])

    def _reinsert(self, table: Table) -> Iterator[Statement]:
        for key in self.choices.some(self._live(table), 1, 1):
            row = self.rows[table.name][key]
            yield self._run([RowChange(table, row, None)])
            same = not table.tagged and self.choices.chance(2)
            yield self._run([RowChange(table, None, row if same else self._new_row(table, key))])

    # -------------------------------------------------------------- key updates

    def _move(self, table: Table) -> Iterator[Statement]:
        for old in self.choices.some(self._live(table), 1, 1):
            for new in self.choices.some(self._free(table), 1, 1):
                also = self._changed(table, self.rows[table.name][old])
                yield self._run([self._moved(table, old, new, self.choices.chance(3) and also)])

    def _move_onto_deleted(self, table: Table) -> Iterator[Statement]:
        keys = self.choices.some(self._live(table), 2, 2)
        if len(keys) == 2:
            yield self._run([RowChange(table, self.rows[table.name][keys[0]], None)])
            yield self._run([self._moved(table, keys[1], keys[0])])

    def _chain(self, table: Table) -> Iterator[Statement]:
        """One row through several keys."""
        for old in self.choices.some(self._live(table), 1, 1):
            for new in self.choices.some(self._free(table), 2, 3):
                yield self._run([self._moved(table, old, new)])
                old = new  # noqa: PLW2901 - where the row is now

    def _swap(self, table: Table) -> Iterator[Statement]:
        """Two rows change places by way of a key that is free."""
        keys, away = self.choices.some(self._live(table), 2, 2), self._away(table)
        if len(keys) == 2:
            one, two = keys
            for old, new in ((one, away), (two, one), (away, two)):
                yield self._run([self._moved(table, old, new)])

    def _move_many(self, table: Table) -> Iterator[Statement]:
        """Several rows to free keys, in one statement."""
        keys, free = self._live(table), self._free(table)
        pairs = list(zip(self.choices.some(keys, 2, 3), free, strict=False))
        if pairs:
            yield self._run_set([self._moved(table, old, new) for old, new in pairs])

    def _shift(self, table: Table) -> Iterator[Statement]:
        """`UPDATE t SET id = id + 1 WHERE id >= …`: every row takes the next one's key."""
        keys = sorted(self._live(table))
        if not keys or not self._collides(table) or len(table.key) > 1:
            return
        down = self.choices.chance(2)
        least = self.choices.pick(keys)
        taken = [key for key in keys if (key <= least if down else key >= least)]
        moves = [self._moved(table, key, (key[0] + (-1 if down else 1),)) for key in taken]
        if self.dialect.keys == "any":
            moves = self.choices.some(moves, len(moves), len(moves))
        elif not down:
            moves.reverse()
        yield self._run_set(moves)

    def _rotate(self, table: Table) -> Iterator[Statement]:
        """Rows change places inside one statement."""
        if not self._collides(table) or self.dialect.keys == "ordered":
            return
        keys = self.choices.some(self._live(table), 2, 3)
        if len(keys) > 1:
            pairs = zip(keys, [*keys[1:], keys[0]], strict=True)
            yield self._run_set([self._moved(table, old, new) for old, new in pairs])

    def _collides(self, table: Table) -> bool:
        keys = self.dialect.keys
        return keys in {"ordered", "net"} or (keys == "any" and table.tagged)

    def _moved(self, table: Table, old: Key, new: Key, also: object = None) -> RowChange:
        row = self.rows[table.name][old]
        changed = {**table.key_cells(new), **(also if isinstance(also, dict) else {})}
        return RowChange(table, row, {**row, **changed}, frozenset(changed))

    # -------------------------------------------------------------- truncate

    def _truncate_some(self, table: Table) -> Iterator[Statement]:
        del table
        yield self._truncate(self.choices.some(self.tables, 1, 2))

    def _truncate(self, tables: Sequence[Table]) -> Statement:
        for table in tables:
            self.rows[table.name].clear()
        return Statement(self._tick(), truncated=tuple(tables))

    # -------------------------------------------------------------- rows

    def _run_set(self, changes: Sequence[RowChange]) -> Statement:
        """A statement that updates several keys, as this database logs it."""
        if self.dialect.keys == "net" and len(changes) > 1:
            changes = list(_net(changes))
        return self._run(changes)

    def _run(self, changes: Sequence[RowChange]) -> Statement:
        rows = self.rows[changes[0].table.name]
        for change in changes:
            if change.old_key is not None:
                del rows[change.old_key]
        for change in changes:
            if change.after is not None:
                rows[change.new_key] = change.after
        return Statement(self._tick(), tuple(changes))

    def _tick(self) -> int:
        self.now += 1_000 * self.choices.below(2)
        return self.now

    def _live(self, table: Table) -> list[Key]:
        return sorted(self.rows[table.name])

    def _free(self, table: Table) -> list[Key]:
        return [key for key in table.domain if key not in self.rows[table.name]]

    def _away(self, table: Table) -> Key:
        return tuple(90 for _ in table.key)

    def _new_row(self, table: Table, key: Key) -> Row:
        cells = table.key_cells(key)
        for column in table.columns:
            cells[column.name] = self._value(column.name)
        return cells

    def _changed(self, table: Table, row: Row) -> dict[str, object]:
        names = [column.name for column in table.columns if column.name != "tag"]
        del row
        return {name: self._value(name) for name in self.choices.some(names, 1, 2)}

    def _value(self, name: str) -> object:
        """A value of the column; few different ones, so that equal rows are common."""
        match name:
            case "tag":
                self._tags += 1
                return f"t{self._tags}"
            case "qty":
                return self.choices.pick([1, 2, 0, None])
            case "state":
                return self.choices.pick(["on", "off", ""])
            case "note":
                return self.choices.pick(["short", "large one", "large two", None])
            case _:
                return self.choices.pick(["a", "b", "c", None])


def _net(changes: Sequence[RowChange]) -> Iterator[RowChange]:
    """A set-based key update as SQL Server splits, sorts and collapses it: by key, in key order."""
    before = {change.old_key: change.before for change in changes}
    after = {change.new_key: change.after for change in changes}
    table = changes[0].table
    touched = frozenset(column.name for column in table.all_columns)
    for key in sorted({*before, *after}):
        yield RowChange(table, before.get(key), after.get(key), touched)


def _paired(statements: Sequence[Statement]) -> Iterator[Statement]:
    """The statements as Db2's connector pairs the rows of a change table: see `Dialect`."""
    of_table: dict[str, list[RowChange]] = {}
    for change in (change for statement in statements for change in statement.changes):
        of_table.setdefault(change.table.name, []).append(change)
    told: dict[int, RowChange | None] = {}
    for changes in of_table.values():
        for first, second in pairwise(changes):
            if first.after is None and second.before is None:
                touched = frozenset(column.name for column in second.table.all_columns)
                told[id(first)] = None
                told[id(second)] = RowChange(second.table, first.before, second.after, touched)
    for statement in statements:
        left = (told.get(id(change), change) for change in statement.changes)
        changes = tuple(change for change in left if change is not None)
        if changes or statement.truncated:
            yield replace(statement, changes=changes)


def _locks(tx: Transaction) -> set[tuple[str, Key | None]]:
    return {
        (change.table.name, key)
        for statement in tx.statements
        for change in statement.changes
        for key in (change.old_key, change.new_key)
        if key is not None
    }


def _truncates(tx: Transaction) -> set[str]:
    return {table.name for statement in tx.statements for table in statement.truncated}


def _apart(tx: Transaction, group: Sequence[Transaction]) -> bool:
    """True where the transactions could have been open together: none waits for another's lock."""
    own, truncated = _locks(tx), _truncates(tx)
    touched = {name for name, _ in own} | truncated
    for other in group:
        others, cut = _locks(other), _truncates(other)
        if own & others or cut & touched or truncated & ({name for name, _ in others} | cut):
            return False
    return True


def timeline(database: Database) -> list[Step]:
    """Unseen transactions, a snapshot or none, a stream; perhaps all of it once more."""
    choices = database.choices
    steps: list[Step] = []
    _unseen(database, steps, 2)
    if choices.below(4) > 0:
        _snapshots(database, steps)
    _stream(database, steps, 6)
    if choices.chance(3):
        _unseen(database, steps, 2)
        _snapshots(database, steps)
        _stream(database, steps, 4)
    return steps


def _unseen(database: Database, steps: list[Step], most: int) -> None:
    for _ in database.choices.times(0, most):
        tx = database.transaction(None, [])
        steps.append(Transaction(tx.statements, tx.began, tx.committed, seen=False))


def _snapshots(database: Database, steps: list[Step]) -> None:
    """A snapshot that ran to its end, perhaps after one that did not."""
    if database.choices.chance(6):
        steps.append(database.snapshot(database.choices.pick(["cut", "aborted"])))
        _unseen(database, steps, 1)
    steps.append(database.snapshot(database.choices.pick(["completed", "completed", "silent"])))


def _stream(database: Database, steps: list[Step], most: int) -> None:
    group: list[Transaction] = []
    for _ in database.choices.times(0, most):
        tx = database.transaction(steps[-1] if steps else None, group)
        group = [*group, tx] if tx.joins else [tx]
        steps.append(tx)
