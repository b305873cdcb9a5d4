"""One line of a case becomes one Kafka record, as Debezium and JsonConverter would write it."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cases.columns import PLACEHOLDER, UNSET, Column, columns
from cases.sources import DAY, KINDS, NOON, Place

from strandline.changes.record import Coordinates, Record

ARRIVAL = DAY + timedelta(hours=13)  # Kafka's time of the first record; each next one a second on


@dataclass(frozen=True)
class Line:
    """`op key row @position name=value …`; `text` is the line itself, for errors and `raw`."""

    op: str
    key: str | None
    row: str | None
    position: str
    partition: int
    options: Mapping[str, str]
    text: str


@dataclass
class Stream:
    """The topics of one case while its lines arrive."""

    connector: str
    prefix: str
    settings: Mapping[str, str]
    columns: tuple[Column, ...]
    delivered: list[tuple[Line, tuple[Column, ...]]] = field(default_factory=list)
    arrived: int = 0
    _next: dict[tuple[str, int], int] = field(default_factory=dict)

    def topic(self, table: str | None = None) -> str:
        """The topic of a table."""
        return f"{self.prefix}.{KINDS[self.connector].place}.{table or 'item'}"

    def arrive(self, line: Line, partition: int | None = None) -> Record:
        """The record of a line, at the next offset of its partition, a second after the last."""
        self.delivered.append((line, self.columns))
        self.arrived += 1
        at = partition if partition is not None else line.partition
        now = ARRIVAL + timedelta(seconds=self.arrived)
        if "kafka" in line.options:
            now = clock(line.options["kafka"])
        if line.op in _CONTROLS:
            topic, key, value, headers = *_CONTROLS[line.op](self, line, now), ()
        else:
            topic = self.topic(line.options.get("topic", line.options.get("table")))
            key = None if line.op == "t" or line.key == "-" else _key(self, line.key or "")
            value = None if line.op == "tomb" else _value(self, line, now)
            headers = tuple(_headers(self, line))
        return Record(
            Coordinates(topic, at, self._offset(topic, at)), millis(now), key, value, headers
        )

    def again(
        self, line: Line, described: tuple[Column, ...], partition: int | None = None
    ) -> Record:
        """A second delivery of a line, with the columns that its table had then."""
        now, self.columns = self.columns, described
        record = self.arrive(line, partition)
        self.columns = now
        return record

    def skip(self, offsets: int, partition: int) -> None:
        """Leaves offsets of the table's topic out, as aborted transactions do."""
        for _ in range(offsets):
            self._offset(self.topic(), partition)

    def _offset(self, topic: str, partition: int) -> int:
        offset = self._next.get((topic, partition), 0)
        self._next[topic, partition] = offset + 1
        return offset


def clock(text: str) -> datetime:
    """`12:00:05`, with fractions, of the day of the cases; or a whole ISO time."""
    return datetime.fromisoformat(text if "T" in text else f"{DAY:%Y-%m-%d}T{text}+00:00")


def millis(moment: datetime) -> int:
    """Milliseconds since the epoch."""
    return round(moment.timestamp() * 1000)


def cells(text: str) -> list[str]:
    """The cells of a row or composite key, cut at commas outside of quotes and brackets."""
    found, depth = [""], 0
    for part in re.findall(r'"(?:\\.|[^"\\])*"|.', text):
        depth += (part in {"[", "{"}) - (part in {"]", "}"})
        if part == "," and not depth:
            found.append("")
        else:
            found[-1] += part
    return found


def named(of: Sequence[Column], texts: Sequence[str], stream: Stream) -> dict[str, Any]:
    """The cells by column name; columns without a text are NULL, columns of `-` are not there."""
    texts = [*texts, *["null"] * (len(of) - len(texts))]
    placeholder = stream.settings.get("placeholder", PLACEHOLDER)
    pairs = zip(of, texts, strict=True)
    return {column.name: column.cell(text, placeholder) for column, text in pairs}


def key_cells(stream: Stream, text: str) -> dict[str, Any]:
    """The key of a line: `1`, or `(2,9)` of several columns."""
    inner = text[1:-1] if text.startswith("(") else text
    keys = [column for column in stream.columns if column.key]
    return named(keys, cells(inner) if len(keys) > 1 else [inner], stream)


# what converters do


def _document(stream: Stream, schema: dict, payload: object) -> bytes:
    bare = stream.settings.get("schemas") == "no"
    document = payload if bare else {"schema": schema, "payload": payload}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _wrapped(stream: Stream, row: Mapping[str, Any]) -> dict[str, Any]:
    """BMDBDB's cells `{"value": …, "set": true}`; a column that was not sent is a bare null."""
    style = _cell_style(stream)
    if style == "plain":
        return {name: cell for name, cell in row.items() if cell is not UNSET}
    mark = {"set": True} if style == "value+set" else {}
    return {n: None if c is UNSET else {"value": c, **mark} for n, c in row.items()}


def _cell_style(stream: Stream) -> str:
    wrapped = KINDS[stream.connector].wrapped
    return stream.settings.get("cells", "value+set" if wrapped else "plain")


def _field(stream: Stream, column: Column) -> dict:
    style = _cell_style(stream)
    if style == "plain":
        return column.field
    inner = [{**column.field, "field": "value"}]
    if style == "value+set":
        inner.append({"type": "boolean", "optional": False, "field": "set"})
    return {"type": "struct", "fields": inner, "optional": True, "field": column.name}


def _struct(fields: list[dict], name: str, **more: object) -> dict:
    return {"type": "struct", "fields": fields, "optional": False, "name": name, **more}


def _key(stream: Stream, text: str) -> bytes:
    fields = [_field(stream, column) for column in stream.columns if column.key]
    payload = _wrapped(stream, key_cells(stream, text))
    return _document(stream, _struct(fields, f"{stream.topic()}.Key"), payload)


def _headers(stream: Stream, line: Line) -> list[tuple[str, bytes]]:
    kind = KINDS[stream.connector]
    found = []
    for name in ("newkey", "oldkey"):
        if name in line.options:
            named = key_cells(stream, line.options[name])
            for column in stream.columns:
                if not column.row:  # a transform added it, to the record's key alone
                    named.pop(column.name, None)
            payload = _wrapped(stream, named)
            data = json.dumps(payload, separators=(",", ":")).encode()
            if stream.settings.get("headers") == "schema":  # JsonConverter as header converter
                fields = [_field(stream, c) for c in stream.columns if c.key and c.row]
                data = _document(stream, _struct(fields, f"{stream.topic()}.Key"), payload)
            if stream.settings.get("headers") == "bytes":  # as an Avro converter's
                data = b"\x00\x00\x00\x00\x01\xfe" + data
            found.append((f"__debezium.{name}", data))
    context = {"connectorLogicalName": stream.prefix, "taskId": "0", "connectorName": kind.name}
    if "run" in line.options:
        context["runId"] = line.options["run"]
    return [*found, *((f"__debezium.context.{n}", text.encode()) for n, text in context.items())]


# change events


def _value(stream: Stream, line: Line, now: datetime) -> bytes:
    images = _images(stream, line)
    source = _source(stream, line)
    emitted = millis(clock(line.options["emitted"])) if "emitted" in line.options else millis(now)
    if "flattened" in stream.settings:
        return _flattened(stream, line, images, source, emitted)
    payload = {**images, "source": source, "op": line.op, "ts_ms": emitted}
    payload["transaction"] = _transaction(source, line)
    row = [_field(stream, column) for column in stream.columns if column.row]
    topic = stream.topic()
    schema = [
        *(_struct(row, f"{topic}.Value", field=image) | {"optional": True} for image in images),
        _struct(
            _derived(source),
            f"io.debezium.connector.{KINDS[stream.connector].name}.Source",
            field="source",
        ),
        *_derived({"op": "c", "ts_ms": 0}),
        {"type": "struct", "fields": _derived(_BLOCK), "optional": True, "field": "transaction"},
    ]
    return _document(stream, _struct(schema, f"{topic}.Envelope", version=1), payload)


def _images(stream: Stream, line: Line) -> dict[str, dict | None]:
    """`before` and `after`: what the line says of them, and nothing else."""
    before, arrow, after = (line.row or "").partition("->")
    if not arrow:
        before, after = (line.row or "-", "") if line.op == "d" else ("", before)
    if line.op == "t":
        return {"before": None, "after": None} if KINDS[stream.connector].truncate_images else {}
    return {
        "before": _row(stream, line, before) if before else None,
        "after": _row(stream, line, after) if after else None,
    }


def _row(stream: Stream, line: Line, text: str) -> dict[str, Any] | None:
    """An image; `-` alone stands for one that holds the key only, `none` for none."""
    if text == "none":
        return None
    key = {} if line.key == "-" else key_cells(stream, line.key or "")
    others = [column for column in stream.columns if column.name not in key]
    wrapped = _cell_style(stream) != "plain"
    only_key = ["-" if wrapped else "null"] * len(others)
    found = {**key, **named(others, only_key if text == "-" else cells(text), stream)}
    return _wrapped(stream, {c.name: found[c.name] for c in stream.columns if c.row})


def _source(stream: Stream, line: Line) -> dict[str, Any]:
    kind = KINDS[stream.connector]
    snapshot = line.options.get("snapshot", "true" if line.op == "r" else "false")
    fields, seconds = kind.fields(Place(line.op, line.position or "0", snapshot, line.options))
    moment = (
        clock(line.options["at"]) if "at" in line.options else NOON + timedelta(seconds=seconds)
    )
    exact = kind.name == "mysql" and fields.get("gtid")  # MySQL's commit time, else the statement's
    if kind.whole_seconds and not exact:
        moment = moment.replace(microsecond=0)
    version = stream.settings.get("version", kind.version)
    micros = round(moment.timestamp() * 1_000_000)
    finer = {"ts_us": micros, "ts_ns": micros * 1000}
    source = {
        "version": version,
        "connector": kind.name,
        "name": stream.prefix,
        "ts_ms": micros // 1000,
        "snapshot": snapshot,
        "db": kind.db,
        "sequence": None,
        **(finer if tuple(map(int, version.split(".")[:2])) >= (2, 6) else {}),
        "table": line.options.get("table", "item"),
        **fields,
    }
    for name, text in line.options.items():
        if name.startswith("source."):
            source[name.removeprefix("source.")] = _literal(text)
    return {name: value for name, value in source.items() if value is not UNSET}


def _literal(text: str) -> object:
    if text == "absent":
        return UNSET
    try:
        return json.loads(text)
    except ValueError:
        return text


_BLOCK = {"id": "", "total_order": 1, "data_collection_order": 1}


def _transaction(source: Mapping[str, Any], line: Line) -> dict | None:
    if "order" not in line.options:
        return None
    order = int(line.options["order"])
    tx = source.get("gtid") or source.get("txId") or source.get("commit_lsn")
    return {"id": str(tx), "total_order": order, "data_collection_order": order}


def _derived(values: Mapping[str, Any]) -> list[dict]:
    """The fields of a block's schema, from its values."""
    types = {bool: "boolean", int: "int64"}
    return [
        {"type": types.get(type(value), "string"), "optional": value is None, "field": name}
        for name, value in values.items()
    ]


def _flattened(
    stream: Stream, line: Line, images: Mapping[str, Any], source: Mapping[str, Any], emitted: int
) -> bytes:
    """What ExtractNewRecordState leaves: the row and the metadata that `flattened:` lists."""
    known = {
        "__op": line.op,
        "__deleted": "true" if line.op == "d" else "false",
        "__ts_ms": emitted,
    }
    known |= {f"__{name}": value for name, value in source.items()}
    known |= {f"__source_{name}": value for name, value in source.items()}
    names = re.findall(r"__\w+", stream.settings["flattened"])
    added = {name: known[name] for name in names}
    row = {**(images["after"] or images["before"] or {}), **added}
    fields = [*(_field(stream, c) for c in stream.columns if c.row), *_derived(added)]
    return _document(stream, _struct(fields, f"{stream.topic()}.Value"), row)


# everything else

Control = tuple[str, bytes | None, bytes | None]


def _notice(stream: Stream, line: Line, now: datetime) -> Control:
    """`notice STARTED`, `notice COMPLETED`, `notice incremental COMPLETED`; `of=` whose it is.

    `notice TABLE_SCAN_COMPLETED scanned=testDB.dbo.item`: a table that was read to its end.
    """
    _, *incremental, word = (each for each in line.text.split() if "=" not in each)
    connector = line.options.get("of", stream.prefix)
    identity = f"00000000-0000-0000-0000-{stream.arrived:012d}"
    value = {
        "id": identity,
        "aggregate_type": "Incremental Snapshot" if incremental else "Initial Snapshot",
        "type": word,
        "additional_data": _additional(connector, line.options.get("scanned")),
        "timestamp": millis(now),
    }
    key = _document(stream, _struct(_derived({"id": ""}), "NotificationKey"), {"id": identity})
    schema = _struct(_derived({**value, "additional_data": ""}), "NotificationValue")
    return f"{stream.prefix}.notifications", key, _document(stream, schema, value)


def _additional(connector: str, table: str | None) -> dict[str, str] | None:
    if connector == "none":
        return None
    scanned = {} if table is None else {"scanned_collection": table, "status": "SUCCEEDED"}
    return {"connector_name": connector, **scanned}


def _ddl(stream: Stream, line: Line, now: datetime) -> Control:
    """`ddl CREATE item (id INT key, price DECIMAL(10,2))`; `@POS` where, `style=position`.

    `db=other`: another database's table; `topic=$.history`: another topic than the prefix.
    """
    kind, _, rest = line.text.removeprefix("ddl ").partition(" ")
    described, _, place = rest.rpartition("@")
    table, _, listed = described.strip().partition(" ")
    db = line.options.get("db", KINDS[stream.connector].db)
    fields, _ = KINDS[stream.connector].fields(Place("c", place.split()[0], "false", {}))
    named = [db] if KINDS[stream.connector].databases else []
    parts = [*named, *([fields["schema"]] if "schema" in fields else []), table]
    identity = ".".join(f'"{part}"' for part in parts)
    change = {"type": kind, "id": identity, "table": _table(listed.strip())}
    payload = {
        "source": {
            "connector": KINDS[stream.connector].name,
            "name": stream.prefix,
            "db": db,
            **fields,
        },
        "ts_ms": millis(now),
        "databaseName": db,
        "ddl": f"{kind} TABLE `{table}` {listed}",
        "tableChanges": [] if kind == "DROP" else [change],
    }
    if "style=position" in place:
        position = {name: fields[name] for name in ("file", "pos")} | {
            "ts_sec": millis(now) // 1000
        }
        payload |= {"source": {"server": stream.prefix}, "position": position}
    key = json.dumps({"databaseName": db}).encode()
    topic = line.options.get("topic", "$").replace("$", stream.prefix)
    return topic, key, json.dumps(payload).encode()


def _table(listed: str) -> dict:
    described = columns(listed.removeprefix("(").removesuffix(")")) if listed else ()
    return {
        "defaultCharsetName": "utf8mb4",
        "primaryKeyColumnNames": [column.name for column in described if column.key],
        "columns": [_native(column, number) for number, column in enumerate(described, 1)],
    }


def _native(column: Column, position: int) -> dict:
    word, _, numbers = column.type.rstrip(")").partition("(")
    sizes = [int(number) for number in numbers.split(",")] if numbers else []
    return {
        "name": column.name,
        "typeName": word,
        "typeExpression": word,
        "length": sizes[0] if sizes else None,
        "scale": sizes[1] if len(sizes) > 1 else None,
        "position": position,
        "optional": not column.key,
    }


def _raw(stream: Stream, line: Line, now: datetime) -> Control:
    """`raw KEY VALUE`: the bytes themselves; `-` none; `hex:…`; `$` is the case's prefix."""
    del now
    key, value = line.key or "-", line.row or "-"
    topic = line.options.get("topic")
    whole = stream.topic() if topic is None else topic.replace("$", stream.prefix)
    return whole, _bytes(key, stream.prefix), _bytes(value, stream.prefix)


def _bytes(text: str, prefix: str) -> bytes | None:
    if text == "-":
        return None
    if text.startswith("hex:"):
        return bytes.fromhex(text.removeprefix("hex:"))
    return text.replace("$", prefix).encode()


_CONTROLS = {"notice": _notice, "ddl": _ddl, "raw": _raw}
