"""PostgreSQL's connector: lsn and sequence, replica identities, TOAST."""

import json
from collections.abc import Iterator, Mapping, Sequence

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.emitters.emitter import Place, Progress
from workloads.emitters.one_log import OneLog
from workloads.messages import Message
from workloads.model import Row, RowChange, Scan, Statement, Table, Transaction
from workloads.truth import Stamp

_FALLBACKS = {"string": "", "int32": 0}  # of a NOT NULL column that is not in the log


class PostgreSQL(OneLog):
    """Every table has a replica identity of its own; one with a deferrable key must be FULL."""

    dialect = Dialect(truncates="anywhere", keys="any", overlaps=True)
    connector = "postgresql"
    versions = ("3.7.0.Final", "3.1.3.Final", "2.4.2.Final")

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.full = {"seat"} | {name for name in ("item", "line") if choices.chance(3)}
        self._lsn = choices.pick([1_000, (1 << 32) - 100, (1 << 62)])
        self._xid = choices.between(700, 710)
        self._commit: int | None = None  # end of the transaction committed before
        self._started = 0  # where the snapshot, or the stream, began
        self._slot = 0  # its place, in the run that made it and read everything first
        self._began = False  # whether anything was sent
        self._stored = False  # whether a restart knows a commit before the first transaction
        self._written: dict[tuple[int, int], list[int]] = {}

    # -------------------------------------------------------------- what is told

    def scope(self, table: Table) -> Mapping[str, str]:
        return {"db": "inventory", "schema": "public", "table": table.name}

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        del statement
        return self.as_told(tx.committed, "commit")

    def unsent(self, change: RowChange) -> frozenset[str]:
        """Large values that the statement did not touch, unless the identity brings them."""
        if change.before is None or change.table.name in self.full:
            return frozenset()
        return frozenset(
            column.name
            for column in change.table.columns
            if column.large
            and column.name not in change.touched
            and str(change.after[column.name]).startswith("large")
        )

    def before(self, change: RowChange) -> Mapping[str, object] | None:
        if change.table.name in self.full:
            return change.before
        if change.after is not None:
            return None
        key = change.table.key_cells(change.old_key)
        return key | {
            column.name: None if column.nullable else _FALLBACKS[column.kind]
            for column in change.table.columns
        }

    # -------------------------------------------------------------- the log

    def before_snapshot(self, in_flight: Sequence[Transaction]) -> None:
        """Rows may have been written before the snapshot by what commits after it.

        A blocking one interrupts a stream, which still knows the commit before it.
        """
        self._written.clear()
        blocking = self._commit is not None and self.choices.chance(2)
        for number, tx in enumerate(in_flight):
            if not any(statement.truncated for statement in tx.statements):
                told = _told_apart(tx) if blocking and not number else len(tx.statements)
                least = 0 if blocking else int(not number)
                for statement in range(self.choices.between(least, told)):
                    self._write(in_flight, number, statement)
        self._started = self._slot if blocking and self._slot else self._advance()
        if not blocking:
            first = self.whole and not self._began and not self._written
            self._slot = self._started if first else 0
            self._began = True
            self._commit = None
            self._stored = self.choices.chance(3)

    def unseen(self) -> None:
        """The stream ends."""
        self._commit = None
        self._slot = 0
        self._began = True

    def read(self, scan: Scan, row: Row) -> Place:
        del row
        return self._place(self._started, self._xid, scan.at, None)

    def stream(self, group: Sequence[Transaction]) -> Iterator[Message]:
        self._began = True
        commits = self._log(group)
        for number, (tx, end) in enumerate(zip(group, commits, strict=True)):
            self._xid += 1
            progress = self.progress(tx)
            yield from self.marker(progress, "BEGIN")
            for position, statement in enumerate(tx.statements):
                lsns = self._written[number, position]
                yield from self._rows(tx, statement, lsns, progress)
            yield from self.marker(progress, "END")
            self._commit = end
        self._written.clear()

    def _rows(
        self, tx: Transaction, statement: Statement, lsns: Sequence[int], progress: Progress
    ) -> Iterator[Message]:
        for change, lsn in zip(statement.changes, lsns, strict=False):
            place = self._place(lsn, self._xid, tx.committed, self._commit)
            yield from self.events(change, place, progress)
        for table in statement.truncated:
            place = self._place(lsns[0], self._xid, tx.committed, self._commit)
            yield self.truncate(table, place, next(self._units), progress)

    def _log(self, group: Sequence[Transaction]) -> list[int]:
        """Writes the statements in some order of the log; returns the ends of the commits."""
        commits: list[int] = []
        done = [len([n for n, _ in self._written if n == number]) for number in range(len(group))]
        while len(commits) < len(group):
            ready = [
                number
                for number in range(len(commits), len(group))
                if done[number] < len(group[number].statements) or number == len(commits)
            ]
            number = self.choices.pick(ready)
            if done[number] < len(group[number].statements):
                self._write(group, number, done[number])
                done[number] += 1
            else:
                commits.append(self._advance())
        return commits

    def _write(self, group: Sequence[Transaction], number: int, position: int) -> None:
        statement = group[number].statements[position]
        together = len(statement.changes) > 1 and all(c.before is None for c in statement.changes)
        if together and self.choices.chance(2):  # heap_multi_insert: one lsn for many rows
            lsns = [self._advance()] * len(statement.changes)
        else:
            lsns = [self._advance() for _ in statement.changes or [None]]
        self._written[number, position] = lsns

    def _advance(self) -> int:
        self._lsn += self.choices.pick([8, 56, 3000])
        return self._lsn

    def _place(self, lsn: int, xid: int, micros: int, commit: int | None) -> Place:
        source = {
            **self.times(micros),
            "sequence": _pair(commit, lsn),
            "txId": xid,
            "lsn": lsn,
            "xmin": None,
        }
        change = lsn if lsn == self._started else next(self._changes)
        return Place(source, change, self._again(commit, lsn))

    def _again(self, commit: int | None, lsn: int) -> Mapping[str, object]:
        """Sent again, the first transaction may know a commit before it: the stored offset did."""
        if commit is not None or lsn <= self._started or not self._stored:
            return {}
        return {"sequence": _pair(self._started, lsn)}


def _told_apart(tx: Transaction) -> int:
    """How many statements may lie before a blocking snapshot: its topics have to show the rest."""
    tables = [{c.table.name for c in statement.changes} for statement in tx.statements]
    for number in range(len(tables) - 1, -1, -1):
        if set().union(*tables[:number]) <= set().union(*tables[number:]):
            return number
    return 0


def _pair(first: int | None, lsn: int) -> str:
    return json.dumps([None if first is None else str(first), str(lsn)])
