"""Tiny builders of change records, so that a test reads like the stream it is about."""

import json
from dataclasses import dataclass, field

from strandline.changes.record import Coordinates, Record

TOPIC = "shop.public.item"
EPOCH_MS = 1_790_000_000_000  # 2026-09-21, the Kafka time of every record less its offset

COLUMNS = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {"type": "string", "optional": True, "field": "bio"},
]
SOURCE = [
    {"type": "string", "field": "connector"},
    {"type": "string", "field": "snapshot"},
    *({"type": "string", "optional": True, "field": name} for name in ("sequence",)),
    *({"type": "int64", "optional": True, "field": name} for name in ("lsn", "txId", "ts_us")),
]


def envelope_schema(columns: list[dict] | None = None) -> dict:
    row = {"type": "struct", "fields": columns or COLUMNS, "optional": True}
    source = {"type": "struct", "fields": SOURCE, "field": "source"}
    return {
        "type": "struct",
        "fields": [
            {**row, "field": "before"},
            {**row, "field": "after"},
            source,
            {"type": "string", "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
        ],
    }


def key_schema(of: str = "int32") -> dict:
    return {"type": "struct", "fields": [{"type": of, "optional": False, "field": "id"}]}


@dataclass
class Stream:
    """One topic as a connector fills it; offsets count up per partition."""

    topic: str = TOPIC
    records: list[Record] = field(default_factory=list)
    columns: list[dict] | None = None
    _next: dict[int, int] = field(default_factory=dict)

    def add(self, key: bytes | None, value: bytes | None, partition=0, headers=()) -> Record:
        offset = self._next.get(partition, 0)
        self._next[partition] = offset + 1
        record = Record(
            Coordinates(self.topic, partition, offset),
            EPOCH_MS + offset,
            key,
            value,
            tuple(headers),
        )
        self.records.append(record)
        return record

    def copy(self) -> "Stream":
        """The same stream so far, to be continued in another way."""
        return Stream(self.topic, list(self.records), self.columns, dict(self._next))

    def skip(self, offsets: int, partition=0) -> None:
        """Leaves offsets out, as aborted transactions and other streams do."""
        self._next[partition] = self._next.get(partition, 0) + offsets

    def change(self, op, key, at, *, name=None, bio=None, partition=0, **extra) -> Record:
        """An event of PostgreSQL at position `at` (an lsn; its transaction is its own)."""
        row = {"id": key, "name": name, "bio": bio, **extra.pop("more", {})}
        payload = {
            "before": extra.pop("before", {"id": key} if op == "d" else None),
            "after": row if op in "cur" else None,
            "op": op,
            "source": self.source(at, "true" if op == "r" else "false"),
            "ts_ms": EPOCH_MS,
        }
        headers = [
            (f"__debezium.{name}", json.dumps({"id": other}).encode())
            for name, other in extra.items()
        ]
        return self.add(self.key(key), self.value(payload), partition, headers)

    def truncate(self, at, *, partition=0) -> Record:
        payload = {"before": None, "after": None, "op": "t", "source": self.source(at, "false")}
        return self.add(None, self.value(payload), partition)

    def tombstone(self, key, *, partition=0) -> Record:
        return self.add(self.key(key), None, partition)

    def again(self, *records: Record) -> None:
        """Delivers records a second time: later offsets, everything else as it was."""
        for record in records:
            self.add(record.key, record.value, record.at.partition, record.headers)

    def key(self, key) -> bytes:
        return json.dumps({"schema": key_schema(), "payload": {"id": key}}).encode()

    def value(self, payload) -> bytes:
        document = {"schema": envelope_schema(self.columns), "payload": payload}
        return json.dumps(document, separators=(",", ":")).encode()

    def source(self, at: int, snapshot: str) -> dict:
        return {
            "connector": "postgresql",
            "snapshot": snapshot,
            "sequence": json.dumps([str(at), str(at)]),
            "lsn": at,
            "txId": at,
            "ts_us": EPOCH_MS * 1000 + at,
        }


def told(versions) -> list[str]:
    """Versions as one reads them: `key: name|what closed it`."""
    return [
        f"{json.loads(v.key)['id']}: {v.row['name']}" + (f"|{v.closed_by}" if v.closed_by else "")
        for v in versions
    ]
