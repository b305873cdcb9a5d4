"""BMDBDB's connector (YugabyteDB gRPC): tablets, hybrid times, wrapped cells, partial images."""

from collections.abc import Iterator, Mapping, Sequence
from zlib import crc32

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.emitters.emitter import Emitter, Place, Progress
from workloads.messages import Converter, Message, compact
from workloads.model import Key, Row, RowChange, Scan, Snapshot, Statement, Step, Table, Transaction
from workloads.truth import Stamp

_LOGICAL_BITS = 12  # of a hybrid time: a counter below the microseconds


class BMDBDB(Emitter):
    """`timed`: with commit_time. Without it tables have one tablet: others do not compare.

    Why they do not: docs/facts/questions.md, A4. `pointed`: the halves of a key move have
    headers. `whole`: every update holds the whole row. `_packed`: rows are stored packed, so that
    updates of all columns come as creates.
    """

    dialect = Dialect(truncates="alone", keys="apart")
    connector = "bmdbdb"
    versions = ("1.9.5.y.21", "1.9.5.y.11")
    packs = True

    def __init__(self, choices: Choices, prefix: str) -> None:
        super().__init__(choices, prefix)
        self.timed = not choices.chance(3)
        self.pointed = self.lineage = not choices.chance(2)
        self.whole = choices.chance(3)
        self._packed = choices.chance(2)
        self.tablets = choices.between(1, 3) if self.timed else 1
        # Servers set no commit time of truncates.
        self._untimed_cuts = self.timed and choices.chance(2)
        self._negative = choices.chance(2)
        self._hybrid = 0
        self._term = 1
        self._index = dict.fromkeys(range(self.tablets), 3)
        self._queues: dict[int, list[list[Message]]] = {n: [] for n in range(self.tablets)}
        self._times: dict[int, int] = {}

    def _converter(self) -> Converter:
        return Converter(
            not self.choices.chance(3),
            self.choices.chance(2),
            wrapped=True,
            with_set=not self.choices.chance(3),
        )

    # -------------------------------------------------------------- what is told

    def scope(self, table: Table) -> Mapping[str, str]:
        return {"db": "bmdb", "schema": "public", "table": table.name}

    def stamp(self, tx: Transaction, statement: Statement) -> Stamp:
        if self._untimed_cuts and statement.truncated:
            return Stamp(None, "kafka")
        if self.timed:
            return Stamp(self._times[id(tx)] >> _LOGICAL_BITS, "commit")
        if self._negative:
            return Stamp(None, "kafka")
        return self.as_told(tx.committed, "commit")

    def scanned(self, scan: Scan) -> Stamp:
        if self.timed:
            return Stamp(self._times[id(scan)] >> _LOGICAL_BITS, "snapshot")
        return Stamp(None, "kafka") if self._negative else self.as_told(scan.at, "snapshot")

    def unsent(self, change: RowChange) -> frozenset[str]:
        if change.before is None or change.moves or self.whole:
            return frozenset()
        return frozenset(c.name for c in change.table.columns if c.name not in change.touched)

    def packed(self, change: RowChange) -> bool:
        return self._packed and not change.moves and not self.unsent(change)

    def before(self, change: RowChange) -> Mapping[str, object] | None:
        """Of a delete the key only; of an update nothing."""
        if change.after is not None:
            return None
        key = self.converter.cells(change.table.key_cells(change.old_key))
        return key | {column.name: None for column in change.table.columns}

    def after(self, change: RowChange) -> Mapping[str, object]:
        """A column that was not sent is a bare null."""
        unsent = self.unsent(change)
        cells = self.converter.cells(change.after)
        return {name: None if name in unsent else cell for name, cell in cells.items()}

    def pointer(self, name: str, key: Key, table: Table) -> tuple:
        return super().pointer(name, key, table) if self.pointed else ()

    # -------------------------------------------------------------- the log

    def messages(self, steps: Sequence[Step]) -> list[Message]:
        """Each tablet is read by itself: between snapshots their messages mingle."""
        sent: list[Message] = []
        for step in steps:
            if isinstance(step, Snapshot):
                sent += self._mingled()
                sent += self._take(step)
            elif step.seen:
                sent += self.heartbeat()
                self._log(step)
        return sent + list(self._mingled())

    def _take(self, snapshot: Snapshot) -> list[Message]:
        at = self._tick(max((scan.at for scan in snapshot.scans), default=0))
        for tablet in self._index:
            self._index[tablet] += 1
        for scan in snapshot.scans:
            self._times[id(scan)] = at
        return self.snapshot(snapshot)

    def read(self, scan: Scan, row: Row) -> Place:
        tablet = self._tablet(scan.table.key_of(row))
        return self._place(tablet, -1, self._times[id(scan)], scan.at, "")

    def _log(self, tx: Transaction) -> None:
        hybrid = self._times[id(tx)] = self._tick(tx.committed)
        progress = self.progress(tx)
        for tablet in self._index:
            self._index[tablet] += 1
        name = f"tx-{progress.number}"
        for write, (statement, change) in enumerate(_changes(tx)):
            if change is None:
                self._truncates(tx, statement, hybrid, progress)
                continue
            for half in _halves(change):
                tablet = self._tablet(half.old_key if half.after is None else half.new_key)
                place = self._place(tablet, write, hybrid, tx.committed, name)
                self._queues[tablet].append(self._half(change, half, place, progress))

    def _half(
        self, change: RowChange, half: RowChange, place: Place, progress: Progress
    ) -> list[Message]:
        headers: tuple = ()
        if change.moves:
            name = "newkey" if half.after is None else "oldkey"
            other = change.new_key if half.after is None else change.old_key
            headers = self.pointer(name, other, change.table)
        return list(self.event(half, place, next(self._units), progress, headers))

    def _truncates(
        self, tx: Transaction, statement: Statement, hybrid: int, progress: Progress
    ) -> None:
        """Every tablet tells of it."""
        for tablet, queue in self._queues.items():
            for table in statement.truncated:
                place = self._place(tablet, 0, hybrid, tx.committed, "")
                if self._untimed_cuts:
                    untimed = {**place.source, "commit_time": 0, "ts_ms": 0}
                    told = Place(untimed, (hybrid, tablet))
                else:
                    told = Place(place.source, hybrid)
                queue.append([self.truncate(table, told, next(self._units), progress)])

    def _mingled(self) -> Iterator[Message]:
        while any(self._queues.values()):
            tablet = self.choices.pick([n for n, queue in self._queues.items() if queue])
            yield from self._queues[tablet].pop(0)

    def _place(self, tablet: int, write: int, hybrid: int, micros: int, name: str) -> Place:
        lsn = f"{self._term}:{self._index[tablet]}::{max(write, 0)}:0"
        source = {
            "ts_ms": -8898156066356 if self._negative else micros // 1000,
            "sequence": compact([None, lsn]).decode(),
            "txId": name if self.pointed else "",
            "lsn": lsn,
        }
        if self.timed:
            source |= {"commit_time": hybrid, "tablet_id": f"tablet{tablet}"}
        else:
            source["xmin"] = None
        return Place(source, (tablet, lsn, hybrid))

    def _tablet(self, key: Key) -> int:
        return crc32(repr(key).encode()) % self.tablets

    def _tick(self, micros: int) -> int:
        """The next hybrid time: the clock's, or one more than the last."""
        self._hybrid = max(self._hybrid + 1, micros << _LOGICAL_BITS)
        return self._hybrid


def _changes(tx: Transaction) -> Iterator[tuple[Statement, RowChange | None]]:
    for statement in tx.statements:
        if statement.truncated:
            yield statement, None
        for change in statement.changes:
            yield statement, change


def _halves(change: RowChange) -> Iterator[RowChange]:
    """A key update is a delete and an insert to the server."""
    if not change.moves:
        yield change
        return
    yield RowChange(change.table, change.before, None)
    yield RowChange(change.table, None, change.after)
