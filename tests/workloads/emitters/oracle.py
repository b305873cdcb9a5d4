"""Oracle's connector: system change numbers, statement-level key updates, LOBs."""

from collections.abc import Iterator, Mapping, Sequence

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.emitters.emitter import PLACEHOLDER, Place
from workloads.emitters.one_log import OneLog
from workloads.messages import Message
from workloads.model import Row, RowChange, Scan, Statement, Table, Transaction
from workloads.truth import Stamp

_SECOND = 1_000_000


class Oracle(OneLog):
    """`lobs`: large columns are LOBs, told only by the statement that writes them."""

    dialect = Dialect(truncates="alone", keys="any", overlaps=True)
    connector = "oracle"
    versions = ("3.7.0.Final", "3.2.0.Final", "3.1.0.Final", "2.1.4.Final")

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.lobs = choices.chance(2)
        self.shares = self.release < (3, 2)
        self._scn = choices.pick([1_000, (1 << 53) - 2, (1 << 64) - 3])
        self._row_sets = choices.chance(2)
        self._written: dict[tuple[int, int], int] = {}
        self._started = 0

    # -------------------------------------------------------------- what is told

    def scope(self, table: Table) -> Mapping[str, str]:
        return {"db": "ORCLPDB1", "schema": "INVENTORY", "table": table.name.upper()}

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        if self.release >= (3, 1):
            return Stamp(tx.committed // 1000 * 1000, "commit")
        return Stamp(statement.at // _SECOND * _SECOND, "change")

    def unsent(self, change: RowChange) -> frozenset[str]:
        if change.before is None or not self.lobs:
            return frozenset()
        return frozenset(
            column.name
            for column in change.table.columns
            if column.large and column.name not in change.touched
        )

    def before(self, change: RowChange) -> Mapping[str, object] | None:
        """The log holds no LOB as it was."""
        told = self.compared(change.table, change.before)
        return {n: v if n in told else PLACEHOLDER for n, v in change.before.items()}

    def compared(self, table: Table, row: Row) -> Row:
        large = {column.name for column in table.columns if column.large and self.lobs}
        return {name: value for name, value in row.items() if name not in large}

    # -------------------------------------------------------------- the log

    def before_snapshot(self, in_flight: Sequence[Transaction]) -> None:
        self._written.clear()
        for number, tx in enumerate(in_flight):
            for statement in range(self.choices.between(0, len(tx.statements))):
                self._written[number, statement] = self._advance()
        self._started = self._advance()

    def read(self, scan: Scan, row: Row) -> Place:
        del row
        numbers = {"txId": None, "scn": str(self._started), "commit_scn": None}
        return Place({**self.times(scan.at), **numbers}, self._started)

    def stream(self, group: Sequence[Transaction]) -> Iterator[Message]:
        for number, tx in enumerate(group):
            for position in range(len(tx.statements)):
                if (number, position) not in self._written:
                    self._written[number, position] = self._advance()
        for number, tx in enumerate(group):
            written = [self._written[number, n] for n in range(len(tx.statements))]
            yield from self._transaction(tx, written, self._advance())
        self._written.clear()

    def _transaction(
        self, tx: Transaction, written: Sequence[int], commit: int
    ) -> Iterator[Message]:
        progress = self.progress(tx)
        yield from self.marker(progress, "BEGIN")
        serial = 0
        for scn, statement in zip(written, tx.statements, strict=True):
            for change in statement.changes:
                serial += 1
                place = self._place(tx, statement, scn, commit, serial)
                yield from self.events(change, place, progress)
            for table in statement.truncated:
                place = self._place(tx, statement, scn, commit, 1)
                yield self.truncate(table, place, next(self._units), progress)
        yield from self.marker(progress, "END")

    def _place(
        self, tx: Transaction, statement: Statement, scn: int, commit: int, serial: int
    ) -> Place:
        source = {
            **self.times(statement.at // _SECOND * _SECOND),
            "txId": f"0a0011{commit & 0xFFFF:010x}",
            "scn": str(scn),
            "commit_scn": str(commit),
            "rs_id": f"0x0000{commit & 0xFFFF:04x}.{serial:08x}" if self._row_sets else None,
            "ssn": 0,
            "redo_thread": 1,
            "user_name": "APP",
        }
        if self.release >= (3, 1):
            source["commit_ts_ms"] = tx.committed // 1000
        if self.release >= (3, 2):
            source["txSeq"] = serial
        return Place(source, next(self._changes))

    def _advance(self) -> int:
        self._scn += self.choices.between(1, 3)
        return self._scn
