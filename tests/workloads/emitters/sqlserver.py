"""SQL Server's connector: commit and change LSN, key moves without headers."""

from collections.abc import Iterator, Mapping, Sequence

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.emitters.emitter import Place, Progress
from workloads.emitters.one_log import OneLog
from workloads.messages import Message
from workloads.model import Key, Row, RowChange, Scan, Statement, Table, Transaction
from workloads.truth import Stamp

_NET_NUMBER = {"c": 1, "d": 1, "u": 2}  # event_serial_no of a single event


class SQLServer(OneLog):
    """`direct`: data.query.mode; change LSNs are then in no order inside a transaction."""

    dialect = Dialect(truncates="never", keys="net")
    connector = "sqlserver"
    versions = ("2.3.4.Final", "3.4.1.Final", "3.6.0.Final", "3.7.0.Final")

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.direct = self.release >= (3, 4)
        self._lsn = choices.pick([0x23 << 48, 0x23 << 48 | 0xFFFF_FFF0_0000, 0xFFFF_FFFE << 48])
        self._committed = self._lsn

    # -------------------------------------------------------------- what is told

    def scope(self, table: Table) -> Mapping[str, str]:
        return {"db": "inventory", "schema": "dbo", "table": table.name}

    def topic(self, table: Table) -> str:
        return ".".join([self.prefix, *self.scope(table).values()])

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        del statement
        if self.release >= (3, 6):
            return self.as_told(tx.began, "begin")
        return self.as_told(tx.committed, "commit")

    def pointer(self, name: str, key: Key, table: Table) -> tuple:
        del name, key, table
        return ()

    # -------------------------------------------------------------- the log

    def unseen(self) -> None:
        self._committed = self._advance()

    def read(self, scan: Scan, row: Row) -> Place:
        del row
        lsns = {"change_lsn": None, "commit_lsn": _text(self._committed), "event_serial_no": None}
        return Place({**self.times(scan.at), **lsns}, self._committed)

    def stream(self, group: Sequence[Transaction]) -> Iterator[Message]:
        for tx in group:
            rows = [change for statement in tx.statements for change in statement.changes]
            lsns = [self._advance() for _ in rows]
            if self.direct:
                lsns = self.choices.some(lsns, len(lsns), len(lsns))
            self._committed = self._advance()
            progress = self.progress(tx)
            yield from self.marker(progress, "BEGIN")
            for change, lsn in zip(rows, lsns, strict=True):
                yield from self._row(tx, change, lsn, progress)
            yield from self.marker(progress, "END")

    def _row(
        self, tx: Transaction, change: RowChange, lsn: int, progress: Progress
    ) -> Iterator[Message]:
        micros = self.stamp(tx, tx.statements[0]).micros
        for message in self.events(change, self._place(lsn, micros), progress):
            if message.value is not None:
                # The halves of a key update are counted, in newer versions each by itself.
                second = change.moves and message.value["op"] == "c" and self.release < (3, 7)
                serial = 2 if second else _NET_NUMBER[message.value["op"]]
                message.value["source"]["event_serial_no"] = serial
            yield message

    def _place(self, lsn: int, micros: int) -> Place:
        lsns = {"change_lsn": _text(lsn), "commit_lsn": _text(self._committed)}
        return Place({**self.times(micros), **lsns, "event_serial_no": 1}, next(self._changes))

    def _advance(self) -> int:
        self._lsn += self.choices.pick([1, 0x10000, 0xFFFF])
        return self._lsn


def _text(lsn: int) -> str:
    """Three hexadecimal numbers of 4, 4 and 2 bytes."""
    digits = f"{lsn:020x}"
    return f"{digits[:8]}:{digits[8:16]}:{digits[16:]}"
