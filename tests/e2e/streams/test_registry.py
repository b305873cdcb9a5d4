"""What serializers write with a real registry is read as it was meant.

The schemas are those that Confluent's converters make of Debezium's; see docs/facts/registries.md.
"""

import json
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal

import httpx
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import SerializationContext, SerializationError
from samples.events import EPOCH_MS, Stream
from stages import registry_stage

from strandline import engine
from strandline.formats.registry.schemas import Schemas, StoredSchema

pytestmark = pytest.mark.heavy

SCALE = {"scale": "2", "connect.decimal.precision": "9"}
COLUMNS = [
    {"name": "id", "type": "long"},
    {"name": "rank", "type": {"type": "int", "connect.type": "int16"}},
    {"name": "price", "default": None, "type": ["null", {
        "type": "bytes", "scale": 2, "precision": 9, "connect.version": 1, "logicalType": "decimal",
        "connect.parameters": SCALE, "connect.name": "org.apache.kafka.connect.data.Decimal"}]},
    {"name": "day", "type": {
        "type": "int", "connect.version": 1, "connect.name": "io.debezium.time.Date"}},
    {"name": "seen", "type": {
        "type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}},
    {"name": "at", "type": {
        "type": "string", "connect.version": 1, "connect.name": "io.debezium.time.ZonedTimestamp"}},
    {"name": "mood", "default": "ok", "type": {
        "type": "string", "connect.version": 1, "connect.parameters": {"allowed": "ok,sad"},
        "connect.default": "ok", "connect.name": "io.debezium.data.Enum"}},
    {"name": "tags", "default": None, "type": ["null", {
        "type": "array", "items": ["null", "string"]}]},
    {"name": "place", "default": None, "type": ["null", {
        "type": "record", "name": "Point", "namespace": "io.debezium.data.geometry",
        "connect.name": "io.debezium.data.geometry.Point",
        "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": "double"}]}]},
]  # fmt: skip
ROW = {
    "id": 1,
    "rank": -7,
    "price": Decimal("12.50"),
    "day": 19_000,
    "seen": 1_700_000_000_000_001,
    "at": "2026-07-03T07:57:47.405Z",
    "mood": "sad",
    "tags": ["a", None],
    "place": {"x": 1.5, "y": -2.0},
}
CELLS = {
    "id": 1,
    "rank": -7,
    "price": Decimal("12.50"),
    "day": date(2022, 1, 8),
    "seen": datetime(2023, 11, 14, 22, 13, 20, 1),
    "at": datetime(2026, 7, 3, 7, 57, 47, 405_000, UTC),
    "mood": "sad",
    "tags": '["a",null]',
    "place": '{"x":1.5,"y":-2.0}',
}


def row(columns=COLUMNS):
    return {
        "type": "record",
        "name": "shop.public.item.Value",
        "fields": columns,
        "connect.name": "shop.public.item.Value",
    }


def envelope(after):
    """The schema of a value; `after` is that of a row, which `before` names once it is known."""
    source = {
        "type": "record",
        "name": "io.debezium.connector.postgresql.Source",
        "fields": [
            {"name": "connector", "type": "string"},
            {"name": "snapshot", "type": ["null", "string"], "default": None},
            {"name": "sequence", "type": ["null", "string"], "default": None},
            {"name": "lsn", "type": ["null", "long"], "default": None},
            {"name": "txId", "type": ["null", "long"], "default": None},
            {"name": "ts_us", "type": "long"},
        ],
    }
    fields = [
        {"name": "before", "type": ["null", after], "default": None},
        {"name": "after", "type": ["null", "shop.public.item.Value"], "default": None},
        {"name": "source", "type": source},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": "long"},
    ]
    return {
        "type": "record",
        "name": "shop.public.item.Envelope",
        "fields": fields,
        "connect.version": 2,
        "connect.name": "shop.public.item.Envelope",
    }


KEY = {
    "type": "record",
    "name": "shop.public.item.Key",
    "fields": [{"name": "id", "type": "long"}],
    "connect.name": "shop.public.item.Key",
}


class Writer:
    """A topic that is written with a registry's serializers, and what the law makes of it."""

    def __init__(self, registry, topic):
        self.url = registry.url
        self.client = self.anew()
        self.stream = Stream(topic)

    def change(self, op, after, at, *, key, value):
        source = self.stream.source(at, "false")
        payload = {"before": None, "after": after, "op": op, "source": source, "ts_ms": EPOCH_MS}
        return self.stream.add(
            self.written(key, {"id": 1}, "key"), self.written(value, payload, "value")
        )

    def written(self, serializer, of, part):
        return serializer(of, SerializationContext(self.stream.topic, part))

    def avro(self, schema, **conf):
        text = schema if isinstance(schema, Schema) else json.dumps(schema)
        return AvroSerializer(
            self.client, text, conf={f"{name.replace('_', '.')}": of for name, of in conf.items()}
        )

    def history(self, known=None):
        """The rows without what the law adds to them, and the quarantine's reasons."""
        schemas = self.known() if known is None else known
        outcome = engine.python(self.stream.records, batches=1, source=None, schemas=schemas)
        rows = [
            {name: of for name, of in cells.items() if not name.startswith("_")}
            for _, cells in outcome.rows
        ]
        assert outcome.counts.conserved
        return rows, [each.reason for each in outcome.quarantined]

    def numbers(self):
        data = [of for r in self.stream.records for of in (r.key, r.value) if of]
        return list(dict.fromkeys(int.from_bytes(of[1:5]) for of in data))

    def known(self):
        """The schemas that the records name, as the registry has them now."""
        return registry_stage.stored(self.anew(), *self.numbers())

    def anew(self):
        """A client that remembers nothing."""
        return SchemaRegistryClient({"url": self.url})


@pytest.fixture
def writer(registry, request):
    """A topic of a test's own."""
    return Writer(registry, f"shop.public.{request.node.name}")


def test_keys_and_values_in_avro_are_read_as_they_were_meant(writer):
    writer.change("c", ROW, 10, key=writer.avro(KEY), value=writer.avro(envelope(row())))
    assert writer.history() == ([CELLS], [])


def test_nulls_in_avro_are_no_defaults(writer):
    bare = {**ROW, "price": None, "tags": None, "place": None}
    writer.change("c", bare, 10, key=writer.avro(KEY), value=writer.avro(envelope(row())))
    assert writer.history() == ([{**CELLS, "price": None, "tags": None, "place": None}], [])


def test_a_schema_that_takes_a_type_from_another_subject_is_read_with_it(writer):
    writer.client.register_schema("shop.public.item.Value", Schema(json.dumps(row()), "AVRO"))
    reference = SchemaReference("shop.public.item.Value", "shop.public.item.Value", 1)
    text = json.dumps(envelope("shop.public.item.Value"))
    value = writer.avro(Schema(text, "AVRO", [reference]))
    writer.change("c", ROW, 10, key=writer.avro(KEY), value=value)
    assert any(schema.references for schema in writer.known().known.values())
    assert writer.history() == ([CELLS], [])


def test_a_column_that_a_second_version_of_the_schema_has_is_one_of_the_history(writer):
    wider = [*COLUMNS, {"name": "size", "type": ["null", "int"], "default": None}]
    for at, (columns, after) in enumerate([(COLUMNS, ROW), (wider, {**ROW, "size": 5})], 10):
        value = writer.avro(envelope(row(columns)))
        writer.change("c" if at == 10 else "u", after, at, key=writer.avro(KEY), value=value)
    rows, reasons = writer.history()
    assert reasons == []
    assert [cells.get("size") for cells in rows] == [None, 5]
    assert len(writer.client.get_versions(f"{writer.stream.topic}-value")) == 2


def test_keys_of_two_versions_of_their_schema_are_one_key(writer):
    value = writer.avro(envelope(row()))
    second_version = {**KEY, "fields": [{"name": "id", "type": "long", "default": 0}]}
    writer.change("c", ROW, 10, key=writer.avro(KEY), value=value)
    writer.change("u", {**ROW, "mood": "ok"}, 11, key=writer.avro(second_version), value=value)
    first, second = writer.stream.records
    rows, _ = writer.history()
    assert first.key != second.key
    assert [cells["mood"] for cells in rows] == ["sad", "ok"]


def test_values_with_a_json_schema_are_read_as_they_were_meant(writer):
    day = {"type": "integer", "connect.type": "int32", "title": "io.debezium.time.Date"}
    columns = {
        "id": {"type": "integer", "connect.type": "int64"},
        "rank": {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int16"}]},
        "day": day,
        "place": {"type": "object", "title": "io.debezium.data.geometry.Point",
                  "properties": {"x": {"type": "number", "connect.type": "float64"}}},
    }  # fmt: skip
    for index, each in enumerate(columns.values()):
        each["connect.index"] = index
    of_row = {"oneOf": [{"type": "null"}, {"type": "object", "properties": columns}]}
    properties = {
        "before": deepcopy(of_row),
        "after": of_row,
        "source": {"type": "object", "properties": {"lsn": {"type": "integer"}}},
        "op": {"type": "string"},
        "ts_ms": {"type": "integer", "connect.type": "int64"},
    }
    schema = {"type": "object", "title": "shop.public.item.Envelope", "properties": properties}
    value = JSONSerializer(json.dumps(schema), writer.client)
    of_key = {"type": "object", "title": "item.Key", "properties": {"id": columns["id"]}}
    key = JSONSerializer(json.dumps(of_key), writer.client)
    after = {"id": 1, "rank": -7, "day": 19_000, "place": {"x": 1.5}}
    writer.change("c", after, 10, key=key, value=value)
    rows, reasons = writer.history()
    assert reasons == []
    assert rows == [{**{name: CELLS[name] for name in ("id", "rank", "day")}, "place": '{"x":1.5}'}]


def test_a_schema_that_was_stored_is_read_when_the_registry_has_lost_it(writer):
    writer.change("c", ROW, 10, key=writer.avro(KEY), value=writer.avro(envelope(row())))
    known = writer.known()
    for part in ("key", "value"):
        for permanent in (False, True):
            writer.client.delete_subject(f"{writer.stream.topic}-{part}", permanent)
    assert writer.history(known) == ([CELLS], [])
    assert writer.history(Schemas())[1] == ["unknown_schema"]


def numbered(registry, artifact, schema):
    """A schema that the registry has got by its own API, with its contentId and globalId."""
    content = {"content": json.dumps(schema), "contentType": "application/json"}
    body = {"artifactId": artifact, "artifactType": "AVRO", "firstVersion": {"content": content}}
    version = json.loads(registry.native("/groups/strandline/artifacts", body))["version"]
    return version["contentId"], version["globalId"]


def test_an_answer_of_the_registry_outlives_its_subjects_but_not_that_of_a_global_id(
    writer, registry
):
    """docs/facts/registries.md, "Deleted schemas"."""
    text = json.dumps({**KEY, "name": "Lost"})
    number = writer.client.register_schema("lost-value", Schema(text, "AVRO"))
    content, whole = numbered(registry, "lost", {**KEY, "name": "LostToo"})
    for permanent in (False, True):
        writer.client.delete_subject("lost-value", permanent)
        assert json.loads(writer.anew().get_schema(number).schema_str)["name"] == "Lost"
    httpx.delete(f"{registry.native_url}/groups/strandline/artifacts/lost").raise_for_status()
    assert "LostToo" in registry.native(f"/ids/contentIds/{content}")
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        registry.native(f"/ids/globalIds/{whole}")


def test_the_registry_gives_schemas_no_guid(writer):
    """docs/facts/registries.md, "Ids"."""
    value = writer.avro(KEY, schema_id_serializer=header_schema_id_serializer)
    with pytest.raises(SerializationError, match="GUID is not set"):
        value({"id": 1}, SerializationContext("guid", "value", []))


def test_ids_of_apicurio_s_own_are_read(writer, registry):
    content, _ = numbered(registry, "own-key", KEY)
    _, whole = numbered(registry, "own-value", envelope(row()))
    writer.change("c", ROW, 10, key=writer.avro(KEY), value=writer.avro(envelope(row())))
    one = writer.stream.records.pop()
    writer.stream.add(
        b"\0" + content.to_bytes(4) + one.key[5:], b"\0" + whole.to_bytes(8) + one.value[5:]
    )
    known = [
        StoredSchema(f"apicurio-{word}:{number}", registry.native(f"/ids/{word}Ids/{number}"))
        for word, number in (("content", content), ("global", whole))
    ]
    assert writer.history(Schemas.of(known)) == ([CELLS], [])


def test_a_registry_that_was_killed_goes_on_with_its_schemas(writer, registry):
    writer.change("c", ROW, 10, key=writer.avro(KEY), value=writer.avro(envelope(row())))
    registry.stop()
    registry.start()
    assert writer.history() == ([CELLS], [])
