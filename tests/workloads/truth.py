"""The history that a workload makes, written down as its transactions run; no record is looked at.

What a stream cannot tell is not in it: `Told` says what a connector leaves out. Rules:
docs/semantics.md.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

from workloads.model import Key, Row, RowChange, Scan, Snapshot, Statement, Step, Table, Transaction


@dataclass(frozen=True)
class Stamp:
    """A time as a source tells it; micros None where it tells none."""

    micros: int | None
    quality: str


class Told(Protocol):
    """What a connector lets its reader know."""

    lineage: bool  # of the rows whose key is updated
    shifts: bool  # keys may collide inside a statement
    packs: bool  # a create on a live key is an update

    def packed(self, change: RowChange) -> bool:
        """Whether an update comes as a create."""
        ...

    def unsent(self, change: RowChange) -> frozenset[str]:
        """Columns whose value the event after a change does not hold."""
        ...

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp: ...

    def scanned(self, scan: Scan) -> Stamp: ...


@dataclass
class Version:
    """What a key was for a while. Times in microseconds; entities are numbers."""

    key: Key
    row: dict[str, object]
    unavailable: frozenset[str]
    op: str
    entity: int
    valid_from: int
    quality: str
    moved_from: Key | None = None
    valid_to: int | None = None
    closed_by: str | None = None
    moved_to: Key | None = None

    def equals(self, row: Row, unavailable: frozenset[str]) -> bool:
        return self.row == row and self.unavailable == unavailable


@dataclass
class History:
    """Of one table.

    `timed` False: the source told no time of something, none can be compared. `doubtful`: a row
    came to a key where an equal one stood that had gone unseen (docs/facts/questions.md, A8); which
    of the two leaves later nobody can tell where keys collide inside statements
    (docs/facts/questions.md, A3).
    """

    table: Table
    versions: dict[Key, list[Version]] = field(default_factory=dict)
    standing: dict[Key, Version] = field(default_factory=dict)
    timed: bool = True
    doubtful: bool = False
    _floor: dict[Key, int] = field(default_factory=dict)
    _entities: Iterator[int] = field(default_factory=count)

    def open(
        self,
        key: Key,
        row: dict[str, object],
        op: str,
        stamp: Stamp,
        *,
        unavailable: frozenset[str] = frozenset(),
        entity: int | None = None,
        moved_from: Key | None = None,
    ) -> None:
        told, floor = self._micros(stamp), self._floor.get(key)
        valid_from = told if floor is None else max(told, floor)
        version = Version(
            key=key,
            row=row,
            unavailable=unavailable,
            op=op,
            entity=next(self._entities) if entity is None else entity,
            valid_from=valid_from,
            quality="clamped" if valid_from > told else stamp.quality,
            moved_from=moved_from,
        )
        self._floor[key] = valid_from
        self.standing[key] = version
        self.versions.setdefault(key, []).append(version)

    def close(
        self, key: Key, closed_by: str, stamp: Stamp, *, moved_to: Key | None = None
    ) -> Version | None:
        version = self.standing.pop(key, None)
        if version is not None:
            version.valid_to = max(self._micros(stamp), version.valid_from)
            version.closed_by = closed_by
            version.moved_to = moved_to
            self._floor[key] = version.valid_to
        return version

    def change(
        self, key: Key, row: dict[str, object], unavailable: frozenset[str], by: str, stamp: Stamp
    ) -> None:
        """The standing version gives way to another one of the same row, if it differs."""
        if self.standing[key].equals(row, unavailable):
            return
        op = {"update": "u", "snapshot_correction": "r"}[by]
        former = self.close(key, by, stamp)
        self.open(key, row, op, stamp, unavailable=unavailable, entity=former.entity)

    def _micros(self, stamp: Stamp) -> int:
        if stamp.micros is None:
            self.timed = False
        return stamp.micros or 0


@dataclass
class Recorder:
    """Writes histories down, step after step."""

    told: Told
    histories: dict[str, History]

    def record(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Snapshot):
                self._snapshot(step)
            elif step.seen:
                for statement in step.statements:
                    self._statement(statement, self.told.stamp(step, statement))

    def _snapshot(self, snapshot: Snapshot) -> None:
        for scan in snapshot.scans:
            history, stamp = self.histories[scan.table.name], self.told.scanned(scan)
            for row in scan.rows:
                key = scan.table.key_of(row)
                if key in history.standing:
                    history.change(key, dict(row), frozenset(), "snapshot_correction", stamp)
                else:
                    history.open(key, dict(row), "r", stamp)
            if snapshot.outcome == "completed" and scan.rows:
                read = {scan.table.key_of(row) for row in scan.rows}
                for key in set(history.standing) - read:
                    history.close(key, "snapshot_absent", stamp)

    def _statement(self, statement: Statement, stamp: Stamp) -> None:
        """All rows leave their keys before one arrives: a statement happens at once."""
        for table in statement.truncated:
            history = self.histories[table.name]
            for key in list(history.standing):
                history.close(key, "truncate", stamp)
        left = {change.old_key: self._leave(change, stamp) for change in statement.changes}
        for change in statement.changes:
            self._arrive(change, left[change.old_key], stamp)

    def _leave(self, change: RowChange, stamp: Stamp) -> Version | None:
        history = self.histories[change.table.name]
        if change.after is None or (change.moves and not self.told.lineage):
            return history.close(change.old_key, "delete", stamp)
        if change.moves:
            return history.close(change.old_key, "key_move", stamp, moved_to=change.new_key)
        return None

    def _arrive(self, change: RowChange, left: Version | None, stamp: Stamp) -> None:
        if change.after is None:
            return
        history, key = self.histories[change.table.name], change.new_key
        moved = change.moves and self.told.lineage
        is_update = change.before is not None and not change.moves
        if self.told.packs and not moved and key in history.standing:
            is_update = True  # also where the row before ended unseen
        if not is_update and key in history.standing:
            former = history.close(key, "update", stamp)  # it ended unseen
            history.doubtful |= self.told.shifts and _alike(change, former)
        base = left if moved else history.standing.get(key)
        row, unavailable = self._known(change, base)
        if is_update and base is not None:
            history.change(key, row, unavailable, "update", stamp)
            return
        history.open(
            key,
            row,
            "u" if is_update and not self.told.packed(change) else "c",
            stamp,
            unavailable=unavailable,
            entity=left.entity if moved and left is not None else None,
            moved_from=change.old_key if moved else None,
        )

    def _known(
        self, change: RowChange, base: Version | None
    ) -> tuple[dict[str, object], frozenset[str]]:
        """The row as far as its reader knows it: what is not sent stays as it was known."""
        row, unavailable = dict(change.after), set()
        for name in self.told.unsent(change):
            row[name] = None if base is None else base.row[name]
            if base is None or name in base.unavailable:
                unavailable.add(name)
        return row, frozenset(unavailable)


def _alike(change: RowChange, version: Version) -> bool:
    """True where a before image could be of either row.

    Large columns may be left out of it; one that is empty but for its key looks like the key alone.
    """
    columns = [column.name for column in change.table.columns if not column.large]
    equal = all(change.after[name] == version.row[name] for name in columns)
    return equal or not any(version.row[name] for name in columns)


def written_down(steps: Iterable[Step], tables: Iterable[Table], told: Told) -> dict[str, History]:
    """The histories of the tables, by name."""
    histories = {table.name: History(table) for table in tables}
    Recorder(told, histories).record(steps)
    return histories
