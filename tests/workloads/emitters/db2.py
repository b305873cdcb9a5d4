"""Db2's connector: commit and change LSN of sixteen bytes, key moves with headers."""

from collections.abc import Iterator, Mapping, Sequence

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.emitters.emitter import Place
from workloads.emitters.one_log import OneLog
from workloads.messages import Message
from workloads.model import Row, Scan, Statement, Table, Transaction
from workloads.truth import Stamp


class Db2(OneLog):
    """Before 3.7 a change has the time at which the connector saw it, another one each time."""

    dialect = Dialect(truncates="never", keys="any", pairs=True)
    connector = "db2"
    versions = ("3.7.0.Final", "3.6.0.Final", "2.3.4.Final")

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.timed = self.release >= (3, 7)
        self._committed = choices.pick([0x1E36 << 64, 0x1E36 << 64 | 0xFFFF_FFFF_FFFF_FFF0])
        self._row = choices.pick([0x446140F, 0xFFFF_FFF0, 0xFFFF_FFFF_FFFF_FFF0])

    # -------------------------------------------------------------- what is told

    def scope(self, table: Table) -> Mapping[str, str]:
        return {"db": "TESTDB", "schema": "INVENTORY", "table": table.name.upper()}

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        del statement
        return self.as_told(tx.committed, "commit") if self.timed else Stamp(None, "kafka")

    # -------------------------------------------------------------- the log

    def unseen(self) -> None:
        self._committed += 1

    def read(self, scan: Scan, row: Row) -> Place:
        del row
        lsns = {"change_lsn": None, "commit_lsn": _text(self._committed)}
        return Place({**self.times(scan.at), **lsns}, self._committed)

    def stream(self, group: Sequence[Transaction]) -> Iterator[Message]:
        for tx in group:
            self._committed += self.choices.pick([1, 0x100, 1 << 64])
            progress = self.progress(tx)
            yield from self.marker(progress, "BEGIN")
            for change in (change for statement in tx.statements for change in statement.changes):
                self._row += self.choices.between(1, 3)
                yield from self.events(change, self._place(tx), progress)
            yield from self.marker(progress, "END")

    def _place(self, tx: Transaction) -> Place:
        lsns = {"change_lsn": _text(self._row), "commit_lsn": _text(self._committed)}
        again = None if self.timed else self.times(tx.committed + 7_000_000)
        return Place({**self.times(tx.committed), **lsns}, next(self._changes), again)


def _text(lsn: int) -> str:
    """Sixteen bytes, of which two colons set the first eight apart."""
    digits = f"{lsn:032x}"
    return f"{digits[:8]}:{digits[8:16]}:{digits[16:]}"
