"""MySQL's connector, MariaDB's, and Tencent's subscription: file, pos and row."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.emitters.emitter import Place, Progress
from workloads.emitters.one_log import OneLog
from workloads.messages import Message
from workloads.model import Row, Scan, Statement, Table, Transaction
from workloads.truth import Stamp

_SECOND = 1_000_000
_HEADER = 120  # what stands in a binlog file before its first transaction


class MySQL(OneLog):
    """`compressed`: all events of a transaction have the position of its payload."""

    dialect = Dialect(truncates="alone", keys="ordered", idle=False)
    connector = "mysql"
    versions = ("3.7.0.Final", "3.1.3.Final", "2.1.4.Final")
    compresses: ClassVar[bool] = True
    name = "mysql-bin"

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.gtids = choices.chance(2)
        self.compressed = self.compresses and choices.chance(2)
        numbered = self.transactions and self.release >= (3, 7)
        self.shares = self.compressed and not numbered
        self._file = choices.pick([3, 999_998, 999_999])
        self._pos = _HEADER
        self._row = 0
        self._gtid = 0
        self._at = (self._file, self._pos)

    # -------------------------------------------------------------- what is told

    def scope(self, table: Table) -> Mapping[str, str]:
        return {"db": "inventory", "table": table.name}

    @property
    def exact(self) -> bool:
        """True where the time is that of the commit, in microseconds; else whole seconds."""
        return self.gtids and self.micros

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        if self.exact:
            return Stamp(tx.committed, "commit")
        return Stamp(statement.at // _SECOND * _SECOND, "statement")

    # -------------------------------------------------------------- the log

    def before_snapshot(self, in_flight: Sequence[Transaction]) -> None:
        del in_flight
        self._row = 0
        self._at = (self._file, self._pos)

    def unseen(self) -> None:
        self._gtid += 1
        self._pos += 400

    def read(self, scan: Scan, row: Row) -> Place:
        del row
        source = self._source(self._at, 0, scan.at) | {"server_id": 0, "gtid": None}
        return Place(source, self._at)

    def stream(self, group: Sequence[Transaction]) -> Iterator[Message]:
        for tx in group:
            self._next_file()
            self._gtid += 1
            self._advance(65)
            progress = self.progress(tx)
            yield from self.marker(progress, "BEGIN")
            for statement in tx.statements:
                if not self.compressed:
                    self._advance(40)
                yield from self._rows(tx, statement, progress)
            yield from self.marker(progress, "END")
            self._advance(31)

    def _rows(self, tx: Transaction, statement: Statement, progress: Progress) -> Iterator[Message]:
        micros = self.stamp(tx, statement).micros
        at = (self._file, self._pos)
        for row, change in enumerate(statement.changes):
            self._row = row
            place = Place(self._source(at, row, micros), next(self._changes))
            yield from self.events(change, place, progress)
        for table in statement.truncated:
            place = Place(self._source(at, self._row, micros), at)
            yield self.truncate(table, place, next(self._units), progress)

    def _source(self, at: tuple[int, int], row: int, micros: int) -> dict[str, object]:
        return {
            **self.times(micros),
            "server_id": 223344,
            "gtid": self._gtid_text() if self.gtids else None,
            "file": f"{self.name}.{at[0]:06d}",
            "pos": at[1],
            "row": row,
            "thread": None,
            "query": None,
        }

    def _gtid_text(self) -> str:
        return f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{self._gtid}"

    def _next_file(self) -> None:
        if self.choices.chance(4):
            self._file += 1
            self._pos = _HEADER

    def _advance(self, size: int) -> None:
        self._pos += size


class MariaDB(MySQL):
    """Times are whole seconds; the GTID is `domain-server-number`."""

    connector = "mariadb"
    versions = ("3.5.0.Final",)
    compresses = False
    name = "binlog"

    @property
    def exact(self) -> bool:
        return False

    def _gtid_text(self) -> str:
        return f"0-1-{self._gtid}"


class Tencent(MySQL):
    """Envelopes of Debezium 1.9 with `snapshot` as a boolean; it subscribes to no truncates.

    Its page shows `ts_ms` 0 on a create.
    """

    dialect = Dialect(truncates="never", keys="ordered", idle=False)
    versions = ("1.9.3.Final",)

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.timeless = choices.chance(4)

    def snapshot_word(self, *, reads: bool) -> object:
        return reads

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        told = super().stamp(tx, statement)
        return Stamp(None, "kafka") if self.timeless else told

    def times(self, micros: int | None) -> dict[str, object]:
        return {"ts_ms": 0} if micros is None else super().times(micros)
