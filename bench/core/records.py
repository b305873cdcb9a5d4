"""Records as a consumer of Kafka has them, of the tables that the races have.

They are made whole before anything is timed: as Python's objects for the law, as Arrow for DuckDB
and for whoever wants columns.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.cases import envelope, landed
from bench.cases.columns import COLUMNS
from bench.cases.stream import CREATE, UPDATE, Batch, Shape, stream
from bench.core import avro
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import PLACEHOLDER, TableRules
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law.landed import Headers, Landed

TABLE = "orders"
TOPIC = envelope.topic(TABLE)
CHANGES_PER_KEY = 4
CONTRACT = TableRules(columns=tuple((c.name, c.contract) for c in COLUMNS))
LEFT_OUT = ("name", "note")  # what the updates of partial images do not tell
# Only a row that lives can move, and not twice in a row: of the changes a tenth are moves then.
MOVES = 0.146


@dataclass(frozen=True)
class Records:
    """One table's records, in the order of their arrival.

    `table`, `rows` and `landed` are the same records. `rules` is what a source file says of the
    table: the types of columns where the records do not tell their schemas, as `described` do.
    `versions`: how many the law makes of them; two changes of a key never leave equal rows.
    `schemas` are those that records name; `json` are such records in JSON, for DuckDB.
    """

    table: pa.Table = field(repr=False)
    described: bool
    versions: int
    schemas: Schemas = field(default=NONE, repr=False)
    json: pa.Table | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def rows(self) -> list[Record]:
        """The records as objects."""
        return of(self.table)

    @cached_property
    def landed(self) -> Landed:
        """The records as columns of Python's own."""
        return columns(self.table)

    @property
    def rules(self) -> TableRules:
        """The column contract, or nothing."""
        return TableRules() if self.described else CONTRACT


def plain(changes: int) -> Records:
    """JSON without schemas; two of a hundred changes are deletes, each with its tombstone."""
    return _made(_shape(changes))


def described(changes: int) -> Records:
    """The same with embedded schemas."""
    return _made(_shape(changes, schemas=True))


def in_avro(changes: int) -> Records:
    """The same in Avro, by two schemas."""
    json = plain(changes)
    table, schemas = avro.encoded(json.table, TABLE)
    return Records(table, True, json.versions, schemas, json.table)


def partial(changes: int) -> Records:
    """Every update leaves columns out, as PostgreSQL does with large values that stay."""
    return _made(_shape(changes), left_out=LEFT_OUT)


def moved(changes: int) -> Records:
    """A tenth of the changes are moves: a delete with a tombstone, and the create of another key.

    Other deletes there are none.
    """
    return _made(_shape(changes, deletes=0.0, moves=MOVES))


def one_key(changes: int) -> Shape:
    """The shape of a table whose changes are all of one key."""
    return Shape(keys=1, batches=(Batch(changes),))


def of(table: pa.Table | pa.RecordBatch) -> list[Record]:
    """A landing table's rows as records."""
    names = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
    topic, partition, offset, timestamp, key, value, headers = (table[name] for name in names)
    milliseconds = pc.divide(timestamp.cast(pa.int64()), 1000)
    columns = (topic, partition, offset, milliseconds, key, value, headers)
    return [
        Record(
            Coordinates(sys.intern(name), part, at),
            time,
            own,
            told,
            tuple([(sys.intern(header["key"]), header["value"]) for header in others]),
        )
        for name, part, at, time, own, told, others in zip(
            *(column.to_pylist() for column in columns), strict=True
        )
    ]


def columns(table: pa.Table | pa.RecordBatch) -> Landed:
    """A landing table's rows as the law takes them up."""
    milliseconds = pc.divide(table["timestamp"].cast(pa.int64()), 1000)
    return Landed(
        TOPIC,
        table["partition"].to_pylist(),
        table["offset"].to_pylist(),
        milliseconds.to_pylist(),
        table["key"].to_pylist(),
        table["value"].to_pylist(),
        _headers(table["headers"]),
        table["topic_id"].to_pylist(),
    )


def _headers(column: pa.ChunkedArray) -> list[Headers]:
    """Each record's headers; a column of structs by `to_pylist` would take longer than the law."""
    lists = column.combine_chunks()
    names, values = (lists.flatten().field(name).to_pylist() for name in ("key", "value"))
    flat = list(zip(names, values, strict=True))
    ends = accumulate(pc.fill_null(pc.list_value_length(lists), 0).to_pylist(), initial=0)
    return [tuple(flat[start:end]) for start, end in pairwise(ends)]


def _shape(
    changes: int, *, deletes: float = 0.02, moves: float = 0.0, schemas: bool = False
) -> Shape:
    return Shape(
        keys=max(changes // CHANGES_PER_KEY, 1),
        batches=(Batch(changes),),
        deletes=deletes,
        moves=moves,
        schemas=schemas,
    )


def _made(shape: Shape, left_out: Sequence[str] = ()) -> Records:
    changes = stream(shape)
    arrived = landed.arrival(changes, shape, 0)
    batches = landed.slices([(TABLE, changes, arrived)], shape, 1)
    table = pa.Table.from_batches(batches, landed.LANDING)
    if left_out:
        place = table.column_names.index("value")
        table = table.set_column(place, "value", _without(table["value"], left_out))
    versions = int(np.isin(changes.op, (CREATE, UPDATE)).sum())
    return Records(table, shape.schemas, versions)


def _without(values: pa.ChunkedArray, names: Sequence[str]) -> pa.ChunkedArray:
    """The values with Debezium's placeholder in those text columns of each update."""
    told = values.cast(pa.string())
    less = told
    for name in names:
        found = rf'("after":\{{[^}}]*"{name}":)"[^"]*"'
        less = pc.replace_substring_regex(less, found, rf'\1"{PLACEHOLDER}"', max_replacements=1)
    updates = pc.match_substring(told, '"op":"u"')
    return pc.if_else(updates, less, told).cast(pa.binary())
