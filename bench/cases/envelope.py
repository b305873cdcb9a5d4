"""Debezium's JSON for a PostgreSQL table: keys, values and headers of many changes at once.

The letters are those of connector 3.7 with JsonConverter, as in `examples/postgres-inventory`:
replica identity DEFAULT, so an update has no `before` and a delete's holds the key alone.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.cases.columns import COLUMNS, KEY, Column, cents, text, values
from bench.cases.stream import CREATE, DELETE, NOBODY, TRUNCATE, UPDATE, Stream

DATABASE, SCHEMA, PREFIX = "bench", "public", "bench"
_CONTEXT = (
    ("__debezium.context.connectorLogicalName", PREFIX),
    ("__debezium.context.taskId", "0"),
    ("__debezium.context.connectorName", "postgresql"),
    ("__debezium.context.runId", "01a1fb56-8fdf-722a-8542-9b25b124655f"),
)
_SOURCE = {
    "version": "string", "connector": "string", "name": "string", "ts_ms": "int64",
    "snapshot": "string?", "db": "string", "sequence": "string?", "ts_us": "int64?",
    "ts_ns": "int64?", "schema": "string", "table": "string", "txId": "int64?", "lsn": "int64?",
    "xmin": "int64?", "origin": "string?", "origin_lsn": "int64?",
}  # fmt: skip
_TRANSACTION = {"id": "string", "total_order": "int64", "data_collection_order": "int64"}
_MOVES = ("__debezium.newkey", "__debezium.oldkey")
_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])


def topic(table: str) -> str:
    """The topic of a table."""
    return f"{PREFIX}.{SCHEMA}.{table}"


def keys(changes: Stream, *, schemas: bool) -> pa.Array:
    """Record keys; NULL for truncates."""
    named = _with_schema(_key_text(changes.key), key_schema() if schemas else None)
    return _bytes(pc.if_else(pa.array(changes.op == TRUNCATE), pa.scalar(None, pa.string()), named))


def records(changes: Stream, table: str, *, schemas: bool) -> pa.Array:
    """Record values: the envelopes."""
    image = np.isin(changes.op, (CREATE, UPDATE))
    deleted = pa.array(changes.op == DELETE)
    millis = changes.micros // 1000
    payload = _joined(
        '{"before":',
        pc.if_else(deleted, _row(_only_key(changes)), "null"),
        ',"after":',
        pc.if_else(pa.array(image), _row(_cells(changes)), "null"),
        f',"source":{{"version":"3.7.0.Final","connector":"postgresql","name":"{PREFIX}","ts_ms":',
        text(millis),
        f',"snapshot":"false","db":"{DATABASE}","sequence":"[\\"',
        text(changes.before),
        '\\",\\"',
        text(changes.at),
        '\\"]","ts_us":',
        text(changes.micros),
        ',"ts_ns":',
        text(changes.micros),
        f'000,"schema":"{SCHEMA}","table":"{table}","txId":',
        text(changes.transaction),
        ',"lsn":',
        text(changes.at),
        ',"xmin":null,"origin":null,"origin_lsn":null},"transaction":null,"op":"',
        pa.array(["c", "u", "d", "t"]).take(pa.array(changes.op)),
        '","ts_ms":',
        text(millis + 120),
        ',"ts_us":',
        text(changes.micros + 120_000),
        ',"ts_ns":',
        text(changes.micros + 120_000),
        "000}",
    )
    return _bytes(_with_schema(payload, value_schema(table) if schemas else None))


def headers(changes: Stream, *, schemas: bool) -> pa.ListArray:
    """The context of the connector's run, and before it the other key of a move."""
    other = np.maximum(changes.moved_to, changes.moved_from)
    moved = other != NOBODY
    own = _with_schema(_key_text(other[moved]), key_schema() if schemas else None)
    names = [*(name for name, _ in _CONTEXT), *_MOVES]
    texts = pa.concat_arrays([pa.array([value for _, value in _CONTEXT]), own.cast(pa.string())])
    width = len(_CONTEXT)
    sizes = width + moved
    ends = np.concatenate([[0], np.cumsum(sizes)])
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes) - np.repeat(moved, sizes)
    which, value = place.copy(), place.copy()
    first = place < 0
    which[first] = width + (changes.moved_from[moved] != NOBODY)
    value[first] = width + np.arange(first.sum())
    items = pa.StructArray.from_arrays(
        [pa.array(names).take(pa.array(which)), _bytes(texts.take(pa.array(value)))],
        fields=list(_HEADER),
    )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items)


def _cells(changes: Stream) -> Mapping[str, pa.Array]:
    """The row as JSON spells it, column by column."""
    row = values(changes)
    hundredths = cents(changes)
    fraction = pc.utf8_lpad(text(hundredths % 100), 2, "0")
    quoted = {
        name: _joined('"', cells, '"')
        for name, cells in row.items()
        if pa.types.is_string(cells.type)
    }
    return {
        name: pc.cast(cells, pa.string()) for name, cells in row.items() if name != "amount"
    } | {"amount": _joined(text(hundredths // 100), ".", fraction), **quoted}


def _only_key(changes: Stream) -> Mapping[str, pa.Array | str]:
    """What a delete's `before` holds without REPLICA IDENTITY FULL."""
    return {column.name: "null" for column in COLUMNS} | {KEY: text(changes.key)}


def _row(cells: Mapping[str, pa.Array | str]) -> pa.Array:
    parts: list[pa.Array | str] = []
    for number, column in enumerate(COLUMNS):
        parts += ["," if number else "{", f'"{column.name}":', cells[column.name]]
    return _joined(*parts, "}")


def _key_text(key: np.ndarray) -> pa.Array:
    return _joined(f'{{"{KEY}":', text(key), "}")


def _with_schema(payload: pa.Array, schema: Mapping[str, object] | None) -> pa.Array:
    if schema is None:
        return payload
    written = json.dumps(schema, separators=(",", ":"))
    return _joined(f'{{"schema":{written},"payload":', payload, "}")


def key_schema() -> dict[str, object]:
    """The Connect schema of keys."""
    return _struct("Key", [_field(COLUMNS[0])])


def value_schema(table: str) -> dict[str, object]:
    """That of values, as connector 3.7 has it: in the order of its fields Avro writes them."""
    row = [_field(column) for column in COLUMNS]
    images = [
        {**_struct(f"{topic(table)}.Value", row), "optional": True, "field": image}
        for image in ("before", "after")
    ]
    source = _struct("io.debezium.connector.postgresql.Source", _fields(_SOURCE))
    transaction = {**_struct("event.block", _fields(_TRANSACTION)), "optional": True}
    fields = [
        *images,
        {**source, "field": "source"},
        {**transaction, "field": "transaction"},
        *_fields({"op": "string", "ts_ms": "int64?", "ts_us": "int64?", "ts_ns": "int64?"}),
    ]
    return _struct(f"{topic(table)}.Envelope", fields)


def _fields(types: Mapping[str, str]) -> list[dict[str, object]]:
    """Fields of these types, of which a question mark makes an optional one."""
    return [
        {"type": of.removesuffix("?"), "optional": of.endswith("?"), "field": name}
        for name, of in types.items()
    ]


def _struct(name: str, fields: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {"type": "struct", "fields": fields, "optional": False, "name": name}


def _field(column: Column) -> dict[str, object]:
    return {**dict(column.connect), "field": column.name}


def _joined(*parts: pa.Array | str) -> pa.Array:
    """Parts next to each other; a text stands in every row."""
    return pc.binary_join_element_wise(*parts, "")


def _bytes(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.binary())
