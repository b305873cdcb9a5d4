"""A bad Avro record among those of a recording is refused with a reason; the rest is as it was."""

import io
import json
import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import fastavro
import pytest
from samples.avro import Registry

from strandline.cells.types import TEXT
from strandline.changes.record import Record
from strandline.formats import capture
from strandline.formats.registry.schemas import Schemas, SchemaType, StoredSchema
from strandline.formats.schema_history import SchemaHistory
from strandline.law import interpret
from strandline.law.decode.general import Decoder
from strandline.law.decode.typed import Typed
from strandline.law.decode.typed.layouts.avro_row import row_of
from strandline.law.decode.typed.refusal import UnclearError

RECORDING = Path(__file__).parents[3] / "examples/postgres-inventory/capture.jsonl"
TOPIC = "inventory.public.orders"
MEGABYTE = 1 << 20
STRANGE = 99  # the id of a schema that only the bad record names


class Recording:
    """The records of a table in Avro, the last update of it in JSON, and the schemas."""

    def __init__(self) -> None:
        self.registry = Registry()
        own = [each for each in capture.read([RECORDING]) if each.at.topic == TOPIC]
        self.last = [each for each in own if b'"op":"u"' in (each.value or b"")][-1]
        self.records = self.registry.records(own)
        self.value = self.registry.avro(self.last.value)
        self.schema = next(
            schema for schema, first in self.registry.stored.values()
            if self.value.startswith(first)
        )  # fmt: skip

    def after(self, value: bytes, key: bytes | None = None) -> list[Record]:
        """The recording, and behind it one more record of the row that was changed last."""
        place = max(each.at.offset for each in self.records) + 1
        at = replace(self.last.at, offset=place)
        own = self.registry.avro(self.last.key) if key is None else key
        return [*self.records, Record(at, self.last.timestamp, own, value, self.last.headers)]

    def found(self, records, more=(), *, typed=True):
        known = {**self.registry.schemas.known, **{each.id: each for each in more}}
        return interpret(records, typed=typed, schemas=Schemas(known))

    def with_cells(self, **cells) -> bytes:
        """The last update with these cells, in Avro."""
        document = json.loads(self.last.value)
        document["payload"]["after"] |= cells
        return self._written(document)

    def with_source(self, **fields) -> bytes:
        """The last update with these fields of its source, in Avro."""
        document = json.loads(self.last.value)
        document["payload"]["source"] |= fields
        return self._written(document)

    def _written(self, document) -> bytes:
        written = self.registry.avro(json.dumps(document).encode())
        assert written.startswith(self.value[:5])
        return written


@pytest.fixture(scope="module")
def recording():
    return Recording()


def test_the_typed_decoder_reads_the_recording(recording):
    """So that what follows is asked of it too."""
    known = SchemaHistory(schemas=recording.registry.schemas)
    typed, records = Typed(Decoder(history=known)), recording.records
    columns = zip(*[(r.key, r.value, r.timestamp, r.headers) for r in records], strict=True)
    rows, _ = typed.read(*columns)
    assert len(rows.record) > 0.9 * sum(each.value is not None for each in records)


def stored(text, type_=SchemaType.AVRO, references=()):
    return StoredSchema(f"confluent:{STRANGE}", text, type_, references)


def named(body: bytes) -> bytes:
    return b"\0" + STRANGE.to_bytes(4) + body


def with_status(recording, status) -> str:
    """The schema of the values, in which the type of one column is another one."""
    schema = json.loads(recording.schema.text)
    row = schema["fields"][0]["type"][1]
    (column,) = [each for each in row["fields"] if each["name"] == "status"]
    column["type"] = status
    del column["default"]
    return json.dumps(schema)


def enum(symbols):
    return {"type": "enum", "name": "Status", "symbols": symbols}


def of_an_unknown_symbol(recording) -> tuple[bytes, list[StoredSchema]]:
    """A record of a writer whose enumeration has one symbol more than the registry says."""
    schema = json.loads(with_status(recording, enum(["new", "x", "y"])))
    written = io.BytesIO()
    registered = recording.schema.text
    datum = fastavro.schemaless_reader(
        io.BytesIO(recording.value[5:]), fastavro.parse_schema(json.loads(registered)), None
    )
    datum["after"]["status"] = "y"
    fastavro.schemaless_writer(written, fastavro.parse_schema(schema), datum)
    return named(written.getvalue()), [stored(with_status(recording, enum(["new", "x"])))]


CYCLE = {
    "type": "record", "name": "Envelope",
    "fields": [{"name": "before", "type": ["null", "Envelope"]}],
}  # fmt: skip

BAD: dict[str, tuple[str, Callable[[Recording], tuple[bytes, list[StoredSchema]]]]] = {
    "bytes that are no framing": ("invalid_utf8", lambda of: (b"\2" + of.value[1:], [])),
    "nothing but a framing": ("invalid_avro", lambda of: (of.value[:5], [])),
    "half of a framing": ("bad_framing", lambda of: (of.value[:3], [])),
    "an id that nobody knows": ("unknown_schema", lambda of: (named(of.value[5:]), [])),
    "the id of a schema of Protobuf": (
        "unsupported_format",
        lambda of: (named(of.value[5:]), [stored("message X {}", SchemaType.PROTOBUF)]),
    ),
    "the id of a JSON Schema": (
        "invalid_utf8", lambda of: (named(of.value[5:]), [stored("{}", SchemaType.JSON)]),
    ),
    "the id of another record's schema": (
        "invalid_avro",
        lambda of: (of.registry.avro(of.last.key)[:5] + of.value[5:], []),
    ),
    "the id of a schema that is one text": (
        "not_an_envelope", lambda _: (named(b"\2a"), [stored('"string"')])
    ),
    "bytes behind the datum": ("invalid_avro", lambda of: (of.value + b"\0", [])),
    "a schema that has itself within it": (
        "unsupported_schema", lambda _: (named(b"\0"), [stored(json.dumps(CYCLE))])
    ),
    "schemas that refer to each other": (
        "bad_schema",
        lambda _: (
            named(b"\0"),
            [
                stored('"int"', references=("confluent:98",)),
                StoredSchema("confluent:98", '"int"', references=(f"confluent:{STRANGE}",)),
            ],
        ),
    ),
    "a decimal that is longer than its type": (
        "bad_value",
        lambda of: (of.with_cells(total=b64encode(b"\1" * 30).decode()), []),
    ),
    "a number beyond its type": (
        "bad_value", lambda of: (customer(of, 1 << 40), [])
    ),
    "a symbol that the schema has not": (
        "invalid_avro",
        of_an_unknown_symbol,
    ),
    "a body that is no zlib": (
        "bad_framing", lambda of: (b"\3\5" + UUID(int=1).bytes + of.value[5:], [])
    ),
    "a compression that nobody knows": (
        "bad_framing", lambda of: (b"\3\7" + UUID(int=1).bytes + of.value[5:], [])
    ),
}  # fmt: skip


def customer(recording, number) -> bytes:
    """The last update with such a number in a column of 32 bits, as no writer would have it."""
    parsed = json.loads(recording.schema.text.replace('"int"', '"long"'))
    long = fastavro.parse_schema(parsed)
    datum = fastavro.schemaless_reader(io.BytesIO(recording.value[5:]), long, None)
    datum["after"]["customer_id"] = number
    written = io.BytesIO()
    fastavro.schemaless_writer(written, long, datum)
    return recording.value[:5] + written.getvalue()


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "general"])
@pytest.mark.parametrize(("reason", "bad"), BAD.values(), ids=BAD)
def test_a_bad_record_is_quarantined_and_the_table_is_as_without_it(recording, reason, bad, typed):
    value, schemas = bad(recording)
    records = recording.after(value)
    found = recording.found(records, schemas, typed=typed)
    (refused,) = found.quarantined
    assert (refused.at, refused.reason) == (records[-1].at, reason)
    assert refused.detail
    assert refused.key is not None
    whole = recording.found(recording.records, typed=typed)
    assert versions(found) == versions(whole)
    assert found.counts.conserved
    assert found.counts.landed == whole.counts.landed + 1


def versions(found):
    return [version.cells() for table in found.tables for version in table.versions]


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "general"])
def test_a_record_that_is_cut_anywhere_is_quarantined(recording, typed):
    first, *more = [recording.value[:length] for length in range(1, len(recording.value))]
    records = recording.after(first)
    for value in more:
        at = replace(records[-1].at, offset=records[-1].at.offset + 1)
        records.append(replace(records[-1], at=at, value=value))
    found = recording.found(records, typed=typed)
    assert len(found.quarantined) == len(more) + 1
    assert versions(found) == versions(recording.found(recording.records))


def test_a_key_that_is_cut_or_goes_on_is_quarantined(recording):
    key = recording.registry.avro(recording.last.key)
    for bad in (key[:-1], key + b"\0", key[:5], b"\0" + STRANGE.to_bytes(4) + key[5:]):
        found = recording.found(recording.after(recording.value, bad))
        assert len(found.quarantined) == 1
        assert found.counts.conserved


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "general"])
def test_a_record_of_ten_megabytes_is_a_version_like_others(recording, typed):
    text = "x" * (10 * MEGABYTE)
    records = recording.after(at_last(recording, recording.with_cells(status=text)))
    found, peak = measured(lambda: recording.found(records, typed=typed))
    assert not found.quarantined
    assert sum(row["status"] == text for row in versions(found)) == 1
    assert peak < 120 * MEGABYTE


def at_last(recording, value):
    """The change behind all others in the source's log."""
    position = json.loads(json.loads(recording.last.value)["payload"]["source"]["sequence"])[1]
    later = str(10 ** len(position) - 1)
    return value.replace(position.encode(), later.encode())


def test_a_text_of_a_megabyte_beside_the_row_is_read_and_no_pattern_is_made_of_it(recording):
    again = recording.with_source(version="x" * MEGABYTE)
    records = recording.after(again)
    found, peak = measured(lambda: recording.found(records))
    assert not found.quarantined
    assert found.counts.duplicates == 1
    assert peak < 30 * MEGABYTE


def test_a_body_that_inflates_to_more_than_any_record_is_refused_before_it_does(recording):
    bomb = zlib.compressobj()
    packed = b"".join([*(bomb.compress(bytes(MEGABYTE)) for _ in range(200)), bomb.flush()])
    value = b"\3\5" + UUID(int=1).bytes + packed
    assert len(value) < MEGABYTE
    glue = StoredSchema(f"glue:{UUID(int=1)}", recording.schema.text)
    found, peak = measured(lambda: recording.found(recording.after(value), [glue]))
    assert [each.reason for each in found.quarantined] == ["too_large"]
    assert peak < 300 * MEGABYTE


def measured(run):
    """What a run gives, and the most memory that it took beyond what was there."""
    tracemalloc.start()
    try:
        return run(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Looked(bytes):
    """Bytes that remember how far somebody has looked."""

    furthest = 0

    def __getitem__(self, place):
        if isinstance(place, int):
            self.furthest = max(self.furthest, place)
        return super().__getitem__(place)


@pytest.mark.parametrize("kind", ["long", "string"])
def test_a_number_without_an_end_is_not_read_to_its_end(kind):
    """A megabyte of it would take minutes: each byte makes the number longer."""
    value = Looked(b"\xff" * 1000 + b"\0")
    with pytest.raises(UnclearError):
        row_of([{"name": "cell", "type": kind}], [TEXT], {})(value, 0)
    assert value.furthest < 11
