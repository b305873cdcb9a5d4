"""Messages on their way from a connector to Kafka, and the JSON that a converter makes of them."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from workloads.model import Column, Table

Kind = Literal["change", "control", "junk"]
Payload = Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """One message, before Kafka has stored it.

    `change` is equal for two messages that report one change. `unit` numbers the row change that it
    belongs to: a connector resumes at the first message of one. `order` is the place in its
    transaction `tx`. `again` are the fields of `source` that differ when it is sent again.
    `fragile`: nobody could tell its second delivery from a second change. `snapshot`: part of one,
    which is never resumed.
    """

    topic: str
    kind: Kind
    unit: int
    table: Table | None = None
    key: Payload | None = None
    value: Payload | None = None
    headers: tuple[tuple[str, Payload], ...] = ()
    change: Hashable = None
    tx: int | None = None
    order: int | None = None
    again: Mapping[str, object] = field(default_factory=dict)
    fragile: bool = False
    snapshot: bool = False


@dataclass(frozen=True)
class Converter:
    """JsonConverter. `schemas`, `header_schemas`: embedded or not. `wrapped`: cells are structs."""

    schemas: bool
    header_schemas: bool
    wrapped: bool = False
    with_set: bool = True

    def cell(self, value: object) -> object:
        if not self.wrapped:
            return value
        return {"value": value, "set": True} if self.with_set else {"value": value}

    def cells(self, row: Mapping[str, object]) -> dict[str, object]:
        return {name: self.cell(value) for name, value in row.items()}

    def key(self, table: Table | None, key: Payload | None) -> bytes | None:
        if key is None:
            return None
        return self._document(key, self._struct(table.key, "key") if table else None)

    def header(self, table: Table | None, key: Payload) -> bytes:
        if not self.header_schemas or table is None:
            return compact(key)
        return compact({"schema": self._struct(table.key, "key"), "payload": key})

    def value(self, table: Table | None, payload: Payload | None) -> bytes | None:
        if payload is None:
            return None
        return self._document(payload, self._envelope(table) if table else {"type": "struct"})

    def _document(self, payload: Payload, schema: Payload | None) -> bytes:
        if not self.schemas:
            return compact(payload)
        return compact({"schema": schema, "payload": payload})

    def _envelope(self, table: Table) -> Payload:
        row = self._struct(table.all_columns, "row") | {"optional": True}
        source = {"type": "struct", "fields": [], "optional": False, "field": "source"}
        op = {"type": "string", "optional": False, "field": "op"}
        fields = [row | {"field": "before"}, row | {"field": "after"}, source, op]
        return {"type": "struct", "fields": fields, "optional": False}

    def _struct(self, columns: tuple[Column, ...], name: str) -> dict[str, Any]:
        return {"type": "struct", "name": name, "fields": [self._field(c) for c in columns]}

    def _field(self, column: Column) -> Payload:
        plain = {"type": column.kind, "optional": column.nullable}
        if not self.wrapped:
            return plain | {"field": column.name}
        inner = [plain | {"field": "value"}]
        if self.with_set:
            inner.append({"type": "boolean", "optional": True, "field": "set"})
        return {"type": "struct", "fields": inner, "optional": True, "field": column.name}


def compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
