"""What all connectors have in common: envelopes, key moves, tombstones, snapshots, bookkeeping."""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from workloads.choices import Choices
from workloads.database import Dialect
from workloads.messages import Converter, Message
from workloads.model import Key, Row, RowChange, Scan, Snapshot, Statement, Step, Table, Transaction
from workloads.truth import Stamp

PLACEHOLDER = "__debezium_unavailable_value"
_NAMES_TABLES = (2, 5)  # since when notices say which tables were read to their end
_NOTICES = {
    "completed": ("STARTED", "COMPLETED"),
    "aborted": ("STARTED", "ABORTED"),
    "cut": ("STARTED", None),
    "silent": (None, None),
}


@dataclass(frozen=True)
class Place:
    """Where an event stands: `source` less what all connectors have, and what names the change.

    `again`: fields of `source` that may differ when the event is sent once more.
    """

    source: Mapping[str, object]
    change: Hashable
    again: Mapping[str, object] | None = None


class Emitter(ABC):
    """One connector with one configuration, drawn when it is made.

    `prefix` is its `topic.prefix`. As the workload's `Told` it says what its events leave out.
    """

    dialect: ClassVar[Dialect] = Dialect()
    versions: ClassVar[Sequence[str]]
    connector: ClassVar[str]
    lineage = True
    packs = False
    shares = False  # several changes may have one position and nothing else that tells them apart

    @property
    def shifts(self) -> bool:
        return self.dialect.keys == "any"

    def __init__(self, choices: Choices, prefix: str) -> None:
        self.choices = choices
        self.prefix = prefix
        self.version = choices.pick(self.versions)
        self.converter = self._converter()
        self.tombstones = not choices.chance(4)
        self.transactions = choices.chance(2)
        # Context headers name the run of the connector since 3.4.
        self.context = self.release >= (3, 4) and choices.chance(2)
        self._units = count()
        self._txs = count(1)
        self._changes = count()

    # -------------------------------------------------------------- what differs

    @abstractmethod
    def messages(self, steps: Sequence[Step]) -> list[Message]:
        """All messages in the order in which the connector sends them first."""

    @abstractmethod
    def read(self, scan: Scan, row: Row) -> Place:
        """Where the read of a row stands."""

    @abstractmethod
    def stamp(self, tx: Transaction, statement: Statement) -> Stamp: ...

    @abstractmethod
    def scope(self, table: Table) -> Mapping[str, str]:
        """The names of a table in `source`."""

    def unsent(self, change: RowChange) -> frozenset[str]:
        del change
        return frozenset()

    def packed(self, change: RowChange) -> bool:
        del change
        return False

    def scanned(self, scan: Scan) -> Stamp:
        return self.as_told(scan.at, "snapshot")

    def before(self, change: RowChange) -> Mapping[str, object] | None:
        """The before image of an update or delete."""
        return self.converter.cells(change.before)

    def after(self, change: RowChange) -> Mapping[str, object]:
        unsent = self.unsent(change)
        cells = {n: PLACEHOLDER if n in unsent else v for n, v in change.after.items()}
        return self.converter.cells(cells)

    def compared(self, table: Table, row: Row) -> Row:
        """The columns that a before image tells: what a reader can compare rows by."""
        del table
        return row

    def snapshot_word(self, *, reads: bool) -> object:
        return "true" if reads else "false"

    # -------------------------------------------------------------- what does not

    def topic(self, table: Table) -> str:
        names = [*self.scope(table).values()]
        return ".".join([self.prefix, *names[-2:]])

    @property
    def micros(self) -> bool:
        """`ts_us` exists since 2.6."""
        return self.release >= (2, 6)

    @property
    def release(self) -> tuple[int, int]:
        major, minor, *_ = self.version.split(".")
        return int(major), int(minor)

    def as_told(self, micros: int, quality: str) -> Stamp:
        return Stamp(micros if self.micros else micros // 1000 * 1000, quality)

    def times(self, micros: int) -> dict[str, object]:
        """The time fields of a `source`."""
        if not self.micros:
            return {"ts_ms": micros // 1000}
        return {"ts_ms": micros // 1000, "ts_us": micros, "ts_ns": micros * 1000}

    def _converter(self) -> Converter:
        return Converter(not self.choices.chance(3), self.choices.chance(2))

    # -------------------------------------------------------------- events

    def events(self, change: RowChange, place: Place, tx: "Progress | None") -> Iterator[Message]:
        """An insert, update or delete; a key update as a delete and a create."""
        unit = next(self._units)
        if not change.moves:
            yield from self.event(change, place, unit, tx)
            return
        table = change.table
        old = RowChange(table, change.before, None)
        yield from self.event(old, place, unit, tx, self.pointer("newkey", change.new_key, table))
        new = self.pointer("oldkey", change.old_key, table)
        yield self._change(change, place, unit, tx, "c", new)

    def event(
        self,
        change: RowChange,
        place: Place,
        unit: int,
        tx: "Progress | None" = None,
        headers: tuple = (),
    ) -> Iterator[Message]:
        if change.after is not None:
            op = "c" if change.before is None or self.packed(change) else "u"
            yield self._change(change, place, unit, tx, op, headers)
            return
        yield self._change(change, place, unit, tx, "d", headers)
        if self.tombstones:
            key = self._key(change.table, change.old_key)
            topic = self.topic(change.table)
            yield Message(
                topic,
                "control",
                unit,
                change.table,
                key,
                headers=headers,
                tx=None if tx is None else tx.number,
                fragile=tx is not None and tx.fragile,
            )

    def pointer(self, name: str, key: Any, table: Table) -> tuple:
        """The header that names the other key of a move."""
        return ((f"__debezium.{name}", self._key(table, key)),)

    def _change(
        self,
        change: RowChange,
        place: Place,
        unit: int,
        tx: "Progress | None",
        op: str,
        headers: tuple,
    ) -> Message:
        gone = op == "d"
        before = None if op == "c" else self.before(change)
        after = None if gone else self.after(change)
        key = change.old_key if gone else change.new_key
        payload = self.envelope(op, change.table, place, before, after)
        order = self._count(payload, tx)
        return Message(
            self.topic(change.table),
            "change",
            unit,
            change.table,
            self._key(change.table, key),
            payload,
            headers,
            change=(place.change, op, key),
            tx=None if tx is None else tx.number,
            order=order,
            again=place.again or {},
            fragile=tx is not None and tx.fragile,
        )

    def truncate(self, table: Table, place: Place, unit: int, tx: "Progress | None") -> Message:
        payload = self.envelope("t", table, place, None, None)
        if self.choices.chance(3):
            del payload["before"], payload["after"]
        order = self._count(payload, tx)
        return Message(
            self.topic(table),
            "change",
            unit,
            table,
            value=payload,
            change=(place.change, "t", table.name),
            tx=None if tx is None else tx.number,
            order=order,
            again=place.again or {},
        )

    @staticmethod
    def _count(payload: dict[str, Any], tx: "Progress | None") -> int | None:
        """Numbers an event inside its transaction, where transaction metadata is sent."""
        if tx is None or not tx.told:
            return None
        tx.total += 1
        payload["transaction"] = {
            "id": f"tx{tx.number}",
            "total_order": tx.total,
            "data_collection_order": 1,
        }
        return tx.total

    def envelope(
        self, op: str, table: Table, place: Place, before: Row | None, after: Row | None
    ) -> dict[str, Any]:
        source = {
            "version": self.version,
            "connector": self.connector,
            "name": self.prefix,
            "snapshot": self.snapshot_word(reads=op == "r"),
            **self.scope(table),
            **place.source,
        }
        return {"before": before, "after": after, "source": source, "transaction": None, "op": op}

    def _key(self, table: Table, key: Any) -> dict[str, object]:
        return self.converter.cells(table.key_cells(key))

    # -------------------------------------------------------------- bookkeeping

    def progress(self, tx: Transaction) -> "Progress":
        return Progress(
            next(self._txs), self.transactions, self.shares and returns(tx, self.compared)
        )

    def marker(self, tx: "Progress", status: str) -> list[Message]:
        """BEGIN or END, where the connector was told to send them."""
        if not tx.told:
            return []
        name = f"{self.prefix}.transaction"
        counts = {"event_count": None, "data_collections": None}
        payload = {"status": status, "id": f"tx{tx.number}", **counts, "ts_ms": 0}
        return [Message(name, "control", next(self._units), key={"id": "tx"}, value=payload)]

    def heartbeat(self) -> list[Message]:
        if not self.choices.chance(4):
            return []
        topic = f"__debezium-heartbeat.{self.prefix}"
        key = {"serverName": self.prefix}
        return [Message(topic, "control", next(self._units), key=key, value={"ts_ms": 0})]

    def _notice(self, word: str | None, table: Table | None = None) -> list[Message]:
        if word is None:
            return []
        scanned = {}
        if table is not None:
            name = ".".join(self.scope(table).values())
            scanned = {"scanned_collection": name, "status": "SUCCEEDED"}
        payload = {
            "id": "n",
            "aggregate_type": "Initial Snapshot",
            "type": word,
            "additional_data": {"connector_name": self.prefix, **scanned},
        }
        topic = f"{self.prefix}.notifications"
        return [
            Message(topic, "control", next(self._units), value=payload, snapshot=True),
        ]

    def snapshot(self, snapshot: Snapshot) -> list[Message]:
        first, last = _NOTICES[snapshot.outcome]
        names_tables = self.release >= _NAMES_TABLES
        told = snapshot.outcome == "completed" and names_tables
        if self.connector == "sqlserver" and snapshot.outcome == "cut" and not names_tables:
            last = "ABORTED"  # else the next COMPLETED might be another task's
        reads = []
        for scan in snapshot.scans:
            reads += self.reads(scan)
            reads += self._notice("TABLE_SCAN_COMPLETED", scan.table) if told else []
        return [*self._notice(first), *reads, *self._notice(last)]

    def reads(self, scan: Scan) -> Iterator[Message]:
        for row in scan.rows:
            key, place = scan.table.key_of(row), self.read(scan, row)
            payload = self.envelope("r", scan.table, place, None, self.converter.cells(row))
            told = tuple(sorted((n, str(v)) for n, v in row.items()))
            yield Message(
                self.topic(scan.table),
                "change",
                next(self._units),
                scan.table,
                self._key(scan.table, key),
                payload,
                change=(place.change, "r", scan.table.name, told),
                snapshot=True,
            )


@dataclass
class Progress:
    """How far the events of one transaction have got. `told`: with transaction metadata."""

    number: int
    told: bool
    fragile: bool
    total: int = 0


def returns(tx: Transaction, compared: Callable[[Table, Row], Row]) -> bool:
    """True where a key shows again, inside the transaction, what it showed before.

    It is what docs/facts/questions.md, A1, is about.
    """
    keys: dict[tuple[str, Key], _Shown] = defaultdict(_Shown)
    again = False
    for change in (change for statement in tx.statements for change in statement.changes):
        name, places = change.table.name, []
        if change.before is not None:
            places.append(keys[name, change.old_key])
            places[-1].leave(compared(change.table, change.before))
        if change.after is not None:
            places.append(keys[name, change.new_key])
            places[-1].arrive(compared(change.table, change.after))
        for place in places if change.moves else places[-1:]:
            again |= place.settle()
    return again


@dataclass
class _Shown:
    """The rows that stand under a key, and what stood there so far."""

    rows: list[Row] = field(default_factory=list)
    states: list[list[Row]] = field(default_factory=list)

    def leave(self, row: Row) -> None:
        if row not in self.rows:
            self.rows.append(row)  # it stood there before the transaction
            self.states.append(list(self.rows))
        self.rows.remove(row)

    def arrive(self, row: Row) -> None:
        if not self.states:
            self.states.append([])
        self.rows.append(row)

    def settle(self) -> bool:
        """True where the rows that stand now stood there before."""
        state = sorted(self.rows, key=repr)
        again = state in self.states
        self.states.append(state)
        return again


__all__ = ["PLACEHOLDER", "Emitter", "Place", "Progress", "returns"]
