"""Avro records: what schemas mean in Connect, and what cannot be read."""

import io
import json
import pickle
import time
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from uuid import UUID

import fastavro
import pytest
from samples.avro import Registry
from workloads import Choices
from workloads.record import Recorded, came_to, run_after_run
from workloads.shards import Cut
from workloads.shards import came_to as came_to_in_shards

from strandline.cells import java
from strandline.cells.types import Kind, Wire
from strandline.changes.record import Coordinates, Record
from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.formats.reading import Formats
from strandline.formats.registry import avro
from strandline.formats.registry.schemas import Schemas, SchemaType, StoredSchema
from strandline.law import in_runs, interpret, no_rules
from strandline.law.decode.general import OLD_KEY
from strandline.law.facts.announcements import Announcements
from strandline.law.shard import Making

CONNECT = "org.apache.kafka.connect.data."


def written(schema, datum):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), datum)
    return stream.getvalue()


def read(schema, datum):
    """What becomes of the value of a field, and its type in Connect."""
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": schema}]}
    found = avro.read(written(record, {"f": datum}), "value", json.dumps(record))
    return found.payload["f"], found.schema["fields"][0]


def refused(body, schema, references=()):
    with pytest.raises(UndecodableError) as told:
        avro.read(
            body, "value", schema if isinstance(schema, str) else json.dumps(schema), references
        )
    return told.value.reason


@pytest.mark.parametrize(
    ("schema", "datum", "payload"),
    [
        ({"type": "fixed", "name": "F", "size": 2}, b"\1\2", "AQI="),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
        ("float", 0.1, 0.1),
        (["int", "string", {"type": "enum", "name": "E", "symbols": ["A"]}], ("E", "A"),
         {"int": None, "string": None, "E": "A"}),
        (["null", "int", "string"], "x", {"int": None, "string": "x"}),
        (["null", {"type": "array", "items": ["null", "bytes"]}], [b"a", None], ["YQ==", None]),
        ({"type": "map", "values": "bytes"}, {"x": b"a"}, {"x": "YQ=="}),
        ({"type": "array", "items": {"type": "record", "name": "MapEntry", "fields": [
            {"name": "key", "type": "int"}, {"name": "value", "type": ["null", "bytes"]}]}},
         [{"key": 1, "value": b"a"}, {"key": 2, "value": None}], [[1, "YQ=="], [2, None]]),
    ],
)  # fmt: skip
def test_a_value_becomes_what_jsonconverter_prints(schema, datum, payload):
    found, _ = read(schema, datum)
    assert json.loads(json.dumps(found, default=float)) == payload


@pytest.mark.parametrize(
    ("schema", "datum", "kind"),
    [
        ({"type": "int", "logicalType": "date"}, 1, Kind.DATE),
        ({"type": "int", "logicalType": "time-millis"}, 1, Kind.TIME),
        ({"type": "long", "logicalType": "time-micros"}, 1, Kind.TIME),
        ({"type": "long", "logicalType": "timestamp-millis"}, 1, Kind.LOCAL),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, 1, Kind.LOCAL),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5}, b"\1", Kind.DECIMAL),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64}, b"\1", Kind.TEXT),
        ({"type": "int", "connect.type": "int16"}, 1, Kind.INT16),
        ({"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}, 1, Kind.LOCAL),
    ],
)  # fmt: skip
def test_logical_types_and_connect_names_say_what_a_column_is(schema, datum, kind):
    bare = {name: of for name, of in schema.items() if name != "logicalType"}
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": schema}]}
    own = {"type": "record", "name": "R", "fields": [{"name": "f", "type": bare}]}
    found = avro.read(written(own, {"f": datum}), "value", json.dumps(record))
    assert connect.column_types(found.schema)["f"].kind is kind


def test_a_fixed_decimal_is_a_decimal():
    fixed = {"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9,
             "scale": 2}  # fmt: skip
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": fixed}]}
    found = avro.read((1234).to_bytes(4), "value", json.dumps(record))
    of = connect.column_types(found.schema)["f"]
    assert (of.kind, of.precision, of.scale, of.wire) == (Kind.DECIMAL, 9, 2, Wire.BASE64)
    assert b64decode(found.payload["f"]) == (1234).to_bytes(4)


def test_a_default_is_the_one_that_jsonconverter_prints():
    fields = [
        {"name": "a", "type": {"type": "bytes", "connect.default": "\u00ff"}, "default": "\u00ff"},
        {"name": "b", "type": [{"type": "int", "connect.default": 5}, "null"], "default": 5},
        {"name": "c", "type": ["null", "int"], "default": None},
        {"name": "d", "type": "double", "default": 1e10},
    ]
    schema = {"type": "record", "name": "R", "fields": fields}
    datum = {"a": b"", "b": None, "c": None, "d": 0.0}
    found = connect.fields(avro.read(written(schema, datum), "value", json.dumps(schema)).schema)
    assert [found[name].get("default") for name in "abc"] == ["/w==", 5, None]
    assert found["d"]["default"].text == "1.0E10"
    assert [found[name]["optional"] for name in "abcd"] == [False, True, True, False]


def test_types_of_a_schema_that_it_refers_to_are_known():
    inner = {"type": "record", "name": "a.Inner", "fields": [{"name": "x", "type": "bytes"}]}
    outer = {"type": "record", "name": "a.Outer", "fields": [{"name": "i", "type": "Inner"}]}
    found = avro.read(b"\2a", "value", json.dumps(outer), (json.dumps(inner),))
    assert found.payload == {"i": {"x": "YQ=="}}
    assert refused(b"\2a", outer) == "bad_schema"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (100.0, "100.0"), (1e7, "1.0E7"),
        (9999999.0, "9999999.0"), (0.001, "0.001"), (9.99e-4, "9.99E-4"), (-1.25e300, "-1.25E300"),
        (12345678.5, "1.23456785E7"), (5e-324, "4.9E-324"),
    ],
)  # fmt: skip
def test_floats_are_spelled_as_java_spells_them(value, text):
    expected = text if value != 5e-324 else "5.0E-324"  # Java before 19 had one digit too many
    assert java.number(value).text == expected


def test_floats_of_32_bits_have_as_many_digits_as_they_need():
    assert java.number(0.10000000149011612, narrow=True).text == "0.1"
    assert java.number(3.4028234663852886e38, narrow=True).text == "3.4028235E38"
    assert [java.number(x) for x in (float("nan"), float("inf"), float("-inf"))] == [
        "NaN", "Infinity", "-Infinity",
    ]  # fmt: skip


# what cannot be read

ROW = {"type": "record", "name": "R", "fields": [{"name": "f", "type": "string"}]}
LIST = {"type": "array", "items": "boolean"}
EMPTY = {"type": "record", "name": "N", "fields": []}
LEAF = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "int"}]}


def doubling(levels):
    """Each record has the one before twice: a short schema, of which 2^levels parts are made."""
    of = LEAF
    for level in range(levels):
        fields = [{"name": "a", "type": of}, {"name": "b", "type": of["name"]}]
        of = {"type": "record", "name": f"L{level}", "fields": fields}
    return of


@pytest.mark.parametrize(
    ("body", "schema", "reason"),
    [
        (b"", ROW, "invalid_avro"),
        (b"\x0aab", ROW, "invalid_avro"),
        (b"\2ab", ROW, "invalid_avro"),
        (b"\2\xff", ROW, "invalid_utf8"),
        (b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7fab", ROW, "invalid_avro"),
        (b"\1", ROW, "invalid_avro"),
        (b"\xff" * 30, ROW, "invalid_avro"),
        (b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\1", LIST, "invalid_avro"),
        (b"\4", {"type": "enum", "name": "E", "symbols": ["A", "B"]}, "invalid_avro"),
        (b"\6", ["null", "string"], "invalid_avro"),
        (b"\2", {"type": "array", "items": "null"}, "unsupported_schema"),
        (b"\2", {"type": "array", "items": EMPTY}, "unsupported_schema"),
        (b"\2", ["int", "long"], "unsupported_schema"),
        (b"", doubling(40), "unsupported_schema"),
        (b"\0", {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]},
         "unsupported_schema"),
        (b"\0", '{"type": "record"', "bad_schema"),
        (b"\0", '{"type": "record", "name": "R"}', "unsupported_schema"),
        (b"\0", '"null"', "unsupported_schema"),
        (b"", {"type": "fixed", "name": "F", "size": 0}, "unsupported_schema"),
        (b"\0", '{"type": "strange"}', "bad_schema"),
        (b"\0", "[" * 5000 + "]" * 5000, "bad_schema"),
        (b"\0", "{}", "bad_schema"),
        (b"\0", "5", "bad_schema"),
    ],
)  # fmt: skip
def test_what_is_not_as_its_schema_says_is_refused_and_takes_no_time(body, schema, reason):
    began = time.monotonic()
    assert refused(body, schema) == reason
    assert refused(body, schema) == reason
    assert time.monotonic() - began < 5


def test_a_record_of_ten_megabytes_is_read():
    text = "x" * 10_000_000
    assert read("string", text)[0] == text


# records

ITEM = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "name"},
    {"type": "bytes", "optional": True, "field": "price", "name": CONNECT + "Decimal",
     "version": 1, "parameters": {"scale": "2", "connect.decimal.precision": "5"}},
]  # fmt: skip
TOPIC = "x.public.item"
MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
MS = 1_767_225_600_000


def row(fields, **more):
    return {"type": "struct", "optional": True, "name": f"{TOPIC}.Value", "fields": fields, **more}


SOURCE = [
    {"type": "string", "optional": False, "field": name}
    for name in ("connector", "name", "schema", "table", "db", "snapshot")
] + [{"type": "int64", "optional": False, "field": name} for name in ("lsn", "ts_ms", "txId")]


def event(op, before, after, lsn, fields=ITEM):
    source = {"connector": "postgresql", "name": "x", "schema": "public", "table": "item",
              "db": "shop", "snapshot": "false", "lsn": lsn, "ts_ms": MS, "txId": lsn}  # fmt: skip
    schema = {
        "type": "struct", "optional": False, "name": f"{TOPIC}.Envelope",
        "fields": [
            row(fields, field="before"), row(fields, field="after"),
            {"type": "struct", "optional": False, "name": "io.debezium.connector.postgresql.Source",
             "fields": SOURCE, "field": "source"},
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
        ],
    }  # fmt: skip
    payload = {"before": before, "after": after, "source": source, "op": op, "ts_ms": MS}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def key(number, **more):
    schema = {"type": "struct", "optional": False, "name": f"{TOPIC}.Key", "fields": ITEM[:1]}
    return json.dumps({"schema": {**schema, **more}, "payload": {"id": number}}).encode()


def item(number, name="a", price=1234):
    return {"id": number, "name": name, "price": b64encode(price.to_bytes(4)).decode()}


def records(*of, headers=()):
    return [
        Record(Coordinates(TOPIC, 0, n), MS, k, v, tuple(headers)) for n, (k, v) in enumerate(of)
    ]


def told(found):
    rows = [version for table in found.tables for version in table.versions]
    return [(v.key, shown(v.cells()), v.closed_by and v.closed_by.value) for v in rows]


def shown(cells):
    return {"name": cells["name"], "price": str(cells["price"])}


def test_a_key_is_one_key_in_json_in_avro_and_under_a_later_schema():
    registry = Registry()
    created, updated = event("c", None, item(1), 1), event("u", item(1), item(1, "b"), 2)
    deleted = event("d", item(1, "b"), None, 3)
    later = registry.avro(key(1, version=2))
    assert later not in {registry.avro(key(1)), key(1)}
    found = interpret(
        records(
            (key(1), created), (registry.avro(key(1)), registry.avro(updated)),
            (later, registry.avro(deleted)), (later, None),
        ),
        schemas=registry.schemas,
    )  # fmt: skip
    assert [(k, closed) for k, _, closed in told(found)] == [
        ('{"id":1}', "update"), ('{"id":1}', "delete"),
    ]  # fmt: skip
    assert found.counts.control == 1


def test_an_avro_header_names_the_other_key_of_a_move():
    registry = Registry()
    old, new = registry.avro(key(1)), registry.avro(key(2))
    moves = [
        Record(Coordinates(TOPIC, 0, 0), MS, old, registry.avro(event("c", None, item(1), 1))),
        Record(Coordinates(TOPIC, 0, 1), MS, old, registry.avro(event("d", item(1), None, 2)),
               (("__debezium.newkey", new),)),
        Record(Coordinates(TOPIC, 0, 2), MS, new, registry.avro(event("c", None, item(2), 2)),
               ((OLD_KEY, old),)),
    ]  # fmt: skip
    found = interpret(moves, schemas=registry.schemas)
    assert [(k, closed) for k, _, closed in told(found)] == [
        ('{"id":1}', "key_move"), ('{"id":2}', None),
    ]  # fmt: skip


FRAMES = {
    "a GUID": lambda n: (f"guid:{UUID(int=n)}", b"\1" + UUID(int=n).bytes),
    "Apicurio's content": lambda n: (f"apicurio-content:{n}", b"\0" + n.to_bytes(4)),
    "Apicurio's global": lambda n: (f"apicurio-global:{n}", b"\0" + n.to_bytes(8)),
    "Glue": lambda n: (f"glue:{UUID(int=n)}", b"\3\0" + UUID(int=n).bytes),
}


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_a_table_is_read_whichever_registry_has_its_schemas(frames):
    registry = Registry(frames)
    avro_records = records((registry.avro(key(1)), registry.avro(event("c", None, item(1), 1))))
    found = interpret(avro_records, schemas=registry.schemas)
    assert told(found) == [('{"id":1}', {"name": "a", "price": "12.34"}, None)]


def test_a_schema_that_is_not_known_is_named_and_the_record_is_read_once_it_is():
    registry = Registry()
    created = records((registry.avro(key(1)), registry.avro(event("c", None, item(1), 1))))
    found = interpret(created)
    (each,) = found.quarantined
    assert (each.reason, found.counts.quarantined) == ("unknown_schema", 1)
    assert "confluent:2 or apicurio-content:2" in each.detail
    assert not interpret(created, schemas=registry.schemas).quarantined


def test_two_registries_that_have_the_number_make_a_record_unclear_until_the_source_file_decides():
    own, other = StoredSchema("confluent:1", '"int"'), StoredSchema("apicurio-content:1", '"long"')
    known = Schemas.of([own, other])
    with pytest.raises(UndecodableError, match="ambiguous_schema"):
        known.among(["confluent:1", "apicurio-content:1"])
    assert known.among(["confluent:1"]) == own


def test_schemas_compare_by_what_they_hold_also_in_another_process():
    known = Schemas.of([StoredSchema("confluent:1", '"int"', references=("confluent:2",))])
    assert pickle.loads(pickle.dumps(known)) == known  # noqa: S301 - our own
    assert Schemas.of([]) != known


def test_schemas_that_refer_to_each_other_are_told():
    known = Schemas.of([
        StoredSchema("confluent:1", '"int"', references=("confluent:2",)),
        StoredSchema("confluent:2", '"int"', references=("confluent:1",)),
    ])  # fmt: skip
    with pytest.raises(UndecodableError, match="refers to itself"):
        known.texts(known.among(["confluent:1"]))


@pytest.mark.parametrize(
    ("stored", "body", "reason"),
    [
        (StoredSchema("confluent:9", "", SchemaType.PROTOBUF), b"", "unsupported_format"),
        (StoredSchema("confluent:9", '"string"'), b"{}", "invalid_avro"),
        (StoredSchema("confluent:9", '"string"'), b"\2a", "not_an_envelope"),
        (StoredSchema("confluent:9", "{}", SchemaType.JSON), b"no", "invalid_json"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_goes_to_quarantine_and_its_key_is_known(stored, body, reason):
    values = records((key(1), b"\0\0\0\0\x09" + body))
    found = interpret(values, schemas=Schemas.of([stored]))
    assert [(each.reason, each.key) for each in found.quarantined] == [(reason, '{"id":1}')]


def test_a_decimal_that_is_longer_than_its_type_goes_to_quarantine():
    registry = Registry()
    long = {**item(1), "price": b64encode(bytes([1] * 30)).decode()}
    found = interpret(
        records((registry.avro(key(1)), registry.avro(event("c", None, long, 1)))),
        schemas=registry.schemas,
    )
    assert [each.reason for each in found.quarantined] == ["bad_value"]


def test_ddl_in_avro_is_read():
    change = {
        "schema": {"type": "struct", "name": "io.debezium.SchemaChangeValue", "fields": [
            {"type": "string", "optional": True, "field": "ddl"},
            {"type": "string", "optional": True, "field": "databaseName"},
            {"type": "array", "optional": True, "field": "tableChanges",
             "items": {"type": "string"}},
        ]},
        "payload": {"ddl": "ALTER", "databaseName": "shop", "tableChanges": []},
    }  # fmt: skip
    registry = Registry()
    value = registry.avro(json.dumps(change).encode())
    assert value[:1] == b"\0"
    heard = Announcements(None, no_rules, registry.schemas)
    assert heard.add([Record(Coordinates("x", 0, 0), MS, None, value)])


# JSON Schema

JSON_SCHEMA = {
    "type": "object", "title": f"{TOPIC}.Key",
    "properties": {
        "b": {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32",
                                            "title": "io.debezium.time.Date"}],
              "connect.index": 1},
        "a": {"type": "integer", "connect.type": "int64", "connect.index": 0},
        "c": {"type": "string", "connect.type": "bytes", "title": CONNECT + "Decimal",
              "connect.parameters": {"scale": "1", "connect.decimal.precision": "4"},
              "connect.index": 2},
        "d": {"$ref": "#/definitions/D", "connect.index": 3},
    },
    "definitions": {"D": {"type": "array", "items": {"type": "string"}}},
}  # fmt: skip


def test_a_json_schema_says_the_types_of_connect():
    stored = StoredSchema("confluent:9", json.dumps(JSON_SCHEMA), SchemaType.JSON)
    found = Formats(Schemas.of([stored])).read_value(b'\0\0\0\0\x09{"a":1}', ())
    types = connect.column_types(found.schema)
    assert [(name, of.kind) for name, of in types.items()] == [
        ("a", Kind.INT64), ("b", Kind.DATE), ("c", Kind.DECIMAL), ("d", Kind.TEXT),
    ]  # fmt: skip
    assert (found.payload, connect.fields(found.schema)["b"]["optional"]) == ({"a": 1}, True)


def test_a_json_key_whose_header_names_its_schema_is_read_with_it_beside_others_without():
    day = {"type": "integer", "connect.type": "int32", "title": "io.debezium.time.Date"}
    schema = {"type": "object", "properties": {"id": day}}
    guid = UUID(int=5)
    stored = StoredSchema(f"guid:{guid}", json.dumps(schema), SchemaType.JSON)
    header = ("__key_schema_id", b"\1" + guid.bytes)
    value = event("c", None, item(1), 1)
    found = interpret(
        [Record(Coordinates(TOPIC, 0, 0), MS, b'{"id":1}', value, (header,))],
        schemas=Schemas.of([stored]),
    )
    assert [k for k, _, _ in told(found)] == ['{"id":"1970-01-02"}']


def test_a_json_schema_that_has_itself_within_it_is_refused():
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    known = Schemas.of([StoredSchema("confluent:9", json.dumps(schema), SchemaType.JSON)])
    found = interpret(records((key(1), b'\0\0\0\0\x09{"a":1}')), schemas=known)
    assert [each.reason for each in found.quarantined] == ["unsupported_schema"]


def test_runs_in_which_the_format_changes_go_on():
    registry = Registry()
    events = [event("c", None, item(1), 1), event("u", item(1), item(1, "b"), 2)]
    json_first = records((key(1), events[0]), (registry.avro(key(1)), registry.avro(events[1])))
    found = in_runs([json_first[:1], json_first[1:]], schemas=registry.schemas)
    assert [(k, closed) for k, _, closed in told(found)] == [
        ('{"id":1}', "update"), ('{"id":1}', None),
    ]  # fmt: skip


@pytest.mark.parametrize("table", ["on record", "in shards"])
def test_a_record_whose_schema_is_known_only_to_a_later_run_is_read_by_that(table):
    registry, stream = Registry(), Announcements(None, no_rules)
    key_of = registry.avro(key(1))
    created = records((key_of, registry.avro(event("c", None, item(1), 1))), (key_of, None))
    updated = Record(
        Coordinates(TOPIC, 0, 2), MS, key_of, registry.avro(event("u", item(1), item(1, "b"), 2))
    )

    def runs():
        yield created
        stream.schemas = registry.schemas
        yield [updated]

    def made(topic, before):
        if table == "on record":
            return Recorded(topic, None, no_rules, before)
        return Cut(Choices.seeded(1), Making(topic, None, no_rules(topic), MOMENT), before)

    (found,) = run_after_run(runs(), stream, made).values()
    (law,) = interpret([*created, updated], schemas=registry.schemas).tables
    compared = came_to if table == "on record" else came_to_in_shards
    assert compared(found) == compared(law)
