"""The layouts of Avro: what events of a table have the same is recognised, not read.

A value is its framing, two images of the row, and behind them what the connector says of the event.
Most of that is the same from event to event; a regular expression of the writer's schema with the
texts of the event that it is learned from recognises it, and takes out what differs. A text that
differs has the length that it had there: another length is another layout.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

from strandline.cells.types import ColumnType, from_connect
from strandline.formats import connect, flattened
from strandline.formats.reading import Written
from strandline.formats.registry import avro
from strandline.formats.registry.schemas import SchemaType
from strandline.law.decode.typed.cells import Make, of_type
from strandline.law.decode.typed.fields import Fields
from strandline.law.decode.typed.layouts.avro_row import (
    TRUNCATED,
    VARINT,
    Field,
    Row,
    field_of,
    is_value,
    number,
    row_of,
)
from strandline.law.decode.typed.layouts.documents import sent
from strandline.law.decode.typed.layouts.layout import Layout
from strandline.law.decode.typed.refusal import UnclearError, distinct, every, tried
from strandline.law.decode.typed.sources import READERS, Source

_LONGEST = 1000  # bytes of a text that a pattern has in it
_OWN = {f"source.{name}" for name in Source.__struct_fields__}
_EVENT = {"op": "string", "ts_ms": "long", "transaction.id": "string"}


@dataclass(slots=True, kw_only=True)
class AvroLayout(Layout):
    """Avro; `said` is what all events say, `taken` the fields that each says for itself."""

    read: Callable[[bytes], tuple[tuple[Any, ...] | None, tuple[bytes, ...]]]
    said: Mapping[str, object]
    taken: Mapping[str, str]

    def events(self, values: Sequence[bytes]) -> tuple[list[Any], list[int]]:
        """The cells of rows, and what is taken out of the rest."""
        return tried(self.read, values)

    def fields(self, events: Sequence[Any]) -> Fields:
        """What all say, or what each one says."""
        after, others = zip(*events, strict=True)
        taken = dict(zip(self.taken, zip(*others, strict=True), strict=True))
        texts = {
            name: every(bytes.decode, taken[name])
            for name, kind in self.taken.items()
            if kind == "string"
        }

        def column(name: str) -> Sequence[Any]:
            if name in taken:
                return distinct(_optional, taken[name])
            return [self.said[name]] * len(events)

        found = Fields(column)
        found.update(texts, after=after)
        return found

    def before(self, value: bytes, unavailable: frozenset[str]) -> Mapping[str, Any]:
        """Nothing: the schema tells the types."""
        del value, unavailable
        return {}


def _optional(data: bytes | None) -> int | None:
    return None if data is None else number(data)


def learned(written: Written) -> Layout:
    """The layout of a value; `UnclearError` where it is for the general decoder to read."""
    if written.schema.type is not SchemaType.AVRO:
        raise UnclearError
    document = written.read("value")
    connector, _ = sent(document.payload)
    if flattened.is_flattened(document.payload, document.schema):
        raise UnclearError
    table = _table(written.schema.text, written.references, connector)
    source = msgspec.convert(document.payload["source"], READERS[connector][1])
    rest = _Rest(table.named, READERS[connector][1])
    pattern = b"".join(
        rest.pattern(each["type"], document.payload[each["name"]], each["name"])
        for each in table.rest
    )
    said = {f"source.{name}": getattr(source, name) for name in source.__struct_fields__}
    return AvroLayout(
        names=table.names,
        types=table.types,
        described=True,
        connector=connector,
        makers=table.makers,
        read=_reader(written.framing, table, re.compile(pattern + rb"\Z", re.DOTALL)),
        said={"ts_ms": None, "transaction.id": None, **said},
        taken=rest.taken,
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """What a schema says of a table: how to read its rows, and which fields are behind them."""

    names: tuple[str, ...]
    types: Mapping[str, ColumnType]
    makers: tuple[Make | None, ...]
    images: tuple[int | None, int | None]
    row: Row
    rest: Sequence[Mapping[str, Any]]
    named: Mapping[str, Any]


@lru_cache(maxsize=256)
def _table(text: str, references: tuple[str, ...], connector: str) -> _Table:
    writer = avro.writer_of(text, references)
    envelope = field_of(writer.parsed, writer.named).avro
    fields = envelope.get("fields", [])
    if [each["name"] for each in fields[:2]] != ["before", "after"]:
        raise UnclearError
    before, after = (field_of(each["type"], writer.named) for each in fields[:2])
    if before.kind != "record" or before.avro != after.avro:
        raise UnclearError
    dialect = READERS[connector][0].dialect
    types = {
        name: from_connect(of, dialect) for name, of in connect.row_fields(writer.schema).items()
    }
    columns = after.avro["fields"]
    kinds = [field_of(each["type"], writer.named).kind for each in columns]
    return _Table(
        tuple(types),
        types,
        tuple(
            None if is_value(kind, of) else of_type(of)[1]
            for kind, of in zip(kinds, types.values(), strict=True)
        ),
        (before.null, after.null),
        row_of(columns, list(types.values()), writer.named),
        fields[2:],
        writer.named,
    )


def _reader(
    framing: bytes, table: _Table, rest: re.Pattern[bytes]
) -> Callable[[bytes], tuple[tuple[Any, ...] | None, tuple[bytes, ...]]]:
    row, match, start = table.row, rest.match, len(framing)
    (no_before, before), (no_after, after) = map(_branches, table.images)
    usual = framing + no_before + after
    begins = len(usual)

    def read(value: bytes) -> tuple[tuple[Any, ...] | None, tuple[bytes, ...]]:
        cells = None
        try:
            if value.startswith(usual):
                cells, at = row(value, begins)
            elif not value.startswith(framing):
                raise UnclearError
            else:
                _, at = image(value, start, no_before, before)
                cells, at = image(value, at, no_after, after)
        except TRUNCATED as error:
            raise UnclearError from error
        found = match(value, at)
        if found is None:
            raise UnclearError
        return cells, found.groups()

    def image(value: bytes, at: int, no_row: bytes, has_row: bytes) -> tuple[Any, int]:
        if value.startswith(no_row, at):
            return None, at + len(no_row)
        if value.startswith(has_row, at):
            return row(value, at + len(has_row))
        raise UnclearError

    return read


def _branches(null: int | None) -> tuple[bytes, bytes]:
    """What stands before no value and before a value, where `null` is the branch of no value."""
    if null is None:
        raise UnclearError
    return bytes([2 * null]), bytes([2 - 2 * null])


@dataclass(slots=True)
class _Rest:
    """What stands behind the images, on its way to a pattern; `taken` are the groups' kinds."""

    named: Mapping[str, Any]
    source: type[Source]
    taken: dict[str, str] = field(default_factory=dict)

    def pattern(self, avro: Any, datum: Any, name: str) -> bytes:
        """The pattern of a field with such a datum."""
        of = field_of(avro, self.named)
        if of.kind in {"int", "long"}:
            return self._number(of, name)
        begins = b""
        if of.null is not None:
            no_value, value = _branches(of.null)
            if datum is None:
                return re.escape(no_value)
            begins = value
        return re.escape(begins) + self._of_kind(of, datum, name)

    def _number(self, of: Field, name: str) -> bytes:
        wanted = name == "ts_ms" or self._is_of_source(name)
        digits = b"(" + VARINT.pattern + b")" if wanted else VARINT.pattern
        if wanted:
            self._take(name, "long")
        if of.null is None:
            return digits
        no_value, value = map(re.escape, _branches(of.null))
        return b"(?:" + no_value + b"|" + value + digits + b")"

    def _of_kind(self, of: Field, datum: Any, name: str) -> bytes:
        match of.kind:
            case "record":
                inner = f"{name}."
                return b"".join(
                    self.pattern(each["type"], datum[each["name"]], inner + each["name"])
                    for each in of.avro["fields"]
                )
            case "boolean":
                return b"\1" if datum else b"\0"
            case "string":
                text = str(datum).encode()
                if len(text) > _LONGEST:
                    raise UnclearError
                length = re.escape(_varint(2 * len(text)))
                if name in _OWN:
                    return length + re.escape(text)
                self._take(name, "string")
                return length + b"(.{%d})" % len(text)
        raise UnclearError

    def _take(self, name: str, kind: str) -> None:
        if _EVENT.get(name, kind) != kind:
            raise UnclearError
        self.taken[name] = kind

    def _is_of_source(self, name: str) -> bool:
        place, _, own = name.partition(".")
        return place == "source" and own in self.source.__struct_fields__


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
