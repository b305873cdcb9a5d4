"""Rows of events that are written in one layout, column by column."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import compress
from operator import le
from typing import Any, TypeVar

from strandline.cells.instants import micros
from strandline.cells.types import ColumnType
from strandline.changes import scope
from strandline.formats.registry.framing import HEADERS
from strandline.law.decode.event import EARLIEST, TOLERANCE
from strandline.law.decode.general import NEW_KEY, OLD_KEY
from strandline.law.decode.typed.fields import Fields
from strandline.law.decode.typed.keys import Keys, Known
from strandline.law.decode.typed.layouts import Layout
from strandline.law.decode.typed.refusal import RefusedError, UnclearError, every, require, tried
from strandline.law.decode.typed.shapes import Columns, Shape
from strandline.law.decode.typed.sources import READERS
from strandline.law.landed import Headers

_EARLIEST, _END = micros(EARLIEST), micros(datetime.max.replace(tzinfo=UTC))
_TOLERANCE = TOLERANCE // timedelta(microseconds=1)
_OPS = frozenset("crud")
_MOVES = frozenset({NEW_KEY, OLD_KEY})
_OTHER = {"d": NEW_KEY, "c": OLD_KEY}
_NOT_SNAPSHOT = frozenset({None, False, "false"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Records with a key and a value, as columns; `place` is where each is in the input."""

    place: list[int]
    key: list[bytes]
    value: list[bytes]
    timestamp: list[int]
    headers: list[Headers]

    @staticmethod
    def of(
        start: int,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        headers: Sequence[Headers],
    ) -> "Batch":
        """Those of records that have both."""
        both = [
            key is not None and value is not None for key, value in zip(keys, values, strict=True)
        ]
        columns = range(start, start + len(keys)), keys, values, timestamps, headers
        return Batch(*[list(compress(column, both)) for column in columns])  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.place)

    def only(self, kept: Sequence[int]) -> "Batch":
        """These records, by their numbers in these columns."""
        return Batch(
            [self.place[n] for n in kept],
            [self.key[n] for n in kept],
            [self.value[n] for n in kept],
            [self.timestamp[n] for n in kept],
            [self.headers[n] for n in kept],
        )


class Scopes(dict[tuple[str | None, ...], str | None]):
    """Scopes by what a source says of its server and table."""

    def __missing__(self, of: tuple[str | None, ...]) -> str | None:
        name, *parts = of
        table = tuple(part for part in parts if part) if parts[2] else ()
        self[of] = found = scope.of(0, name, scope.name(table)) if table else None
        return found


@dataclass(frozen=True, slots=True)
class Reader:
    """What rows are read with: what is known of the topic, and the shapes that it has so far."""

    unavailable: frozenset[str]
    keys: Keys
    scopes: Scopes = field(default_factory=Scopes)
    shapes: list[Shape] = field(default_factory=list)

    def read(self, layout: Layout, batch: Batch) -> tuple[Columns, list[int]]:
        """The rows of records that are written so, and the numbers of the others in the batch."""
        events, others = layout.events(batch.value)
        numbers = list(range(len(batch)))
        if others:
            numbers = _without(numbers, others)
        while events:
            own = batch if len(numbers) == len(batch) else batch.only(numbers)
            try:
                return self._rows(layout, own, events), others
            except RefusedError as error:
                others = sorted([*others, *(numbers[n] for n in error.rows)])
                numbers, events = _without(numbers, error.rows), _without(events, error.rows)
        return Columns(), others

    def _rows(self, layout: Layout, batch: Batch, events: Sequence[Any]) -> Columns:
        """A row for each event; `RefusedError` where some are not clear."""
        connector, _, origins_of, link = READERS[layout.connector]
        fields = layout.fields(events)
        sent_by = fields["source.connector"]
        if not set(sent_by).issubset(connector.accepts):
            require(each in connector.accepts for each in sent_by)
        snapshots = [of not in _NOT_SNAPSHOT for of in fields["source.snapshot"]]
        ops = _ops(fields["op"], snapshots)
        known = self._known(layout, batch.key)
        names = [of for _, of, _ in known]
        origins = origins_of(fields, ops, snapshots)
        _require_times(origins.best, batch.timestamp)
        tables = (fields[f"source.{part}"] for part in ("name", "db", "schema", "table"))
        read = Columns(
            record=batch.place,
            op=ops,
            key=[text for text, _, _ in known],
            scope=list(map(self.scopes.__getitem__, zip(*tables, strict=True))),
            **origins._asdict(),
        )
        others = self._moves(layout, batch, ops, names)
        read.moved = {n: (other, link(fields, n)) for n, other in others.items()}
        self._add_images(read, layout, batch, fields["after"], names)
        transactions = fields["transaction.id"]
        if transactions.count(None) < len(transactions):
            pairs = zip(read.tx_id, transactions, strict=True)
            read.tx_id = [named if own is None else own for own, named in pairs]
        read.whole = _whole(fields, ops, snapshots) if True in snapshots else {}
        return read

    def _known(self, layout: Layout, keys: Sequence[bytes]) -> list[Known]:
        known, types, read = self.keys.known_with(layout.types), layout.types, self.keys.read
        return every(lambda key: known.get(key) or read(key, types), keys)

    def _add_images(
        self,
        read: Columns,
        layout: Layout,
        batch: Batch,
        after: Sequence[Any],
        names: Sequence[tuple[str, ...]],
    ) -> None:
        """Adds the cells of rows, and their shapes."""
        shown = [n for n, op in enumerate(read.op) if op != "d"]
        rows = [after[n] for n in shown]
        if None in rows:
            raise RefusedError([n for n, row in zip(shown, rows, strict=True) if row is None])
        try:
            images = layout.images(rows, self.unavailable)
        except RefusedError as error:
            raise RefusedError([shown[n] for n in error.rows]) from error
        own = [names[n] for n in shown] if len(shown) < len(names) else names
        shapes = _shapes(layout, images.kinds, own, self.shapes)
        read.partial = {shown[n] for n in images.partial}
        if len(shown) == len(names):
            read.sent, read.shape = images.cells, shapes
            return
        read.sent, read.shape = [()] * len(names), [-1] * len(names)
        for n, cells, shape in zip(shown, images.cells, shapes, strict=True):
            read.sent[n], read.shape[n] = cells, shape
        self._add_deletes(read, layout, batch, names)

    def _add_deletes(
        self, read: Columns, layout: Layout, batch: Batch, names: Sequence[tuple[str, ...]]
    ) -> None:
        """Adds the shapes of deletes, whose `before` tells the types of what nobody declared."""
        deletes = [n for n, op in enumerate(read.op) if op == "d"]
        made, refused = tried(lambda n: layout.before(batch.value[n], self.unavailable), deletes)
        if refused:
            raise RefusedError([deletes[n] for n in refused])
        for n, before in zip(deletes, made, strict=True):
            read.shape[n] = layout.deleted(before, names[n], self.shapes)

    def _moves(
        self, layout: Layout, batch: Batch, ops: Sequence[str], names: Sequence[tuple[str, ...]]
    ) -> dict[int, str]:
        """The other keys of those that are halves of moves."""
        named = {name for headers in set(batch.headers) for name, _ in headers}
        if not named.isdisjoint(HEADERS):  # they name a schema for what is JSON without one
            require(HEADERS.isdisjoint(name for name, _ in of) for of in batch.headers)
        if named.isdisjoint(_MOVES):
            return {}
        said = {  # the last header of that name, which may say nothing
            n: data
            for n, headers in enumerate(batch.headers)
            for name, data in headers
            if name == _OTHER.get(ops[n])
        }
        of = {n: data for n, data in said.items() if data is not None}
        others, refused = tried(
            lambda n: self._other(of[n], batch.key[n], names[n], layout.types), of
        )
        if refused:
            halves = list(of)
            raise RefusedError([halves[n] for n in refused])
        return dict(zip(of, others, strict=True))

    def _other(
        self, data: bytes, key: bytes, names: tuple[str, ...], types: Mapping[str, ColumnType]
    ) -> str:
        """The other key of a move, where it is written as the record's own is."""
        keys = self.keys
        if not keys.are_alike(data, key):
            raise UnclearError
        text, others, _ = keys.known.get(data) or keys.read(data, types)
        if others != names:
            raise UnclearError
        return text


def _without(column: Sequence[T], refused: Collection[int]) -> list[T]:
    return [each for n, each in enumerate(column) if n not in refused]


def _ops(ops: Sequence[str], snapshots: Sequence[bool]) -> list[str]:
    """What events do; a row that a snapshot creates has been read."""
    if not _OPS.issuperset(ops):
        require(op in _OPS for op in ops)
    if True in snapshots:
        pairs = zip(ops, snapshots, strict=True)
        return ["r" if op == "c" and of else op for op, of in pairs]
    return list(ops)


def _require_times(best: Sequence[int], kafka: Sequence[int]) -> None:
    """Refuses times that nobody can have meant: before anything was captured, after Kafka's own."""
    latest = [ms * 1000 + _TOLERANCE if ms * 1000 >= _EARLIEST else _END for ms in kafka]
    if min(best) < _EARLIEST or not all(map(le, best, latest)):
        require(_EARLIEST <= at <= most for at, most in zip(best, latest, strict=True))


def _shapes(
    layout: Layout,
    kinds: Sequence[tuple[type, ...]],
    keys: Sequence[tuple[str, ...]],
    shapes: list[Shape],
) -> list[int]:
    """The numbers of rows' shapes, by the classes of their cells and the columns of their keys."""
    of = list(zip(kinds, keys, strict=True))
    found = {each: layout.shape_of(*each, shapes) for each in dict.fromkeys(of)}
    return [found[each] for each in of]


def _whole(
    fields: Fields, ops: Sequence[str], snapshots: Sequence[bool]
) -> dict[int, tuple[int | None, str | None]]:
    """The reads of whole snapshots, with when they were emitted and the connector's name."""
    emitted, names, told = (fields[of] for of in ("ts_ms", "source.name", "source.snapshot"))
    return {
        n: (emitted[n], names[n] or None)
        for n, op in enumerate(ops)
        if op == "r" and snapshots[n] and told[n] != "incremental"
    }
