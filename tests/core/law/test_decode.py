"""What goes to quarantine, and why; what is control."""

import json

import pytest
from samples.events import COLUMNS, Stream

from strandline import connectors
from strandline.changes.change import Control, Quarantined
from strandline.connectors import CONNECTORS
from strandline.law import interpret
from strandline.law.decode.general import Decoded, decode


def outcome(key=b'{"id":1}', value=b"{}"):
    return decode(Stream().add(key, value))


ENVELOPE = {
    "op": "c",
    "after": {"id": 1},
    "source": {"connector": "postgresql", "lsn": 1, "ts_us": 1},
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "x"}, "unknown_op"),
        ({"source": None}, "no_source"),
        ({"source": {"connector": "informix", "lsn": 1}}, "unknown_connector"),
        ({"source": {"connector": "postgresql"}}, "no_position"),
        ({"source": {"connector": "postgresql", "lsn": -1}}, "no_position"),
        ({"source": {"connector": "postgresql", "sequence": "[" * 5000}}, "no_position"),
        ({"source": {"connector": "mysql", "file": "binlog", "pos": 4}}, "no_position"),
        ({"source": {"connector": "oracle", "scn": "5", "commit_scn": [6]}}, "no_position"),
        ({"source": {"connector": ["oracle"]}}, "unknown_connector"),
        ({"after": None}, "no_image"),
        ({"after": "text"}, "no_image"),
    ],
)
def test_an_envelope_with_a_broken_part_is_quarantined_with_its_reason(change, reason):
    found = outcome(value=json.dumps({**ENVELOPE, **change}).encode())
    assert isinstance(found, Quarantined)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{", "invalid_json"),
        (b'{"op":"c"} trailing', "invalid_json"),
        (b'{"op":NaN}', "invalid_json"),
        (b"\xff\xfe", "invalid_utf8"),
        (b"[1]", "not_an_envelope"),
        (b"{}", "not_an_envelope"),
    ],
)
def test_a_value_that_is_no_envelope_is_quarantined_with_its_reason(value, reason):
    assert outcome(value=value).reason == reason


def test_images_tell_rows_apart_by_the_value_of_a_document():
    """The default of a column stands in for what is not in the log, however it is printed."""
    document = {"type": "string", "name": "io.debezium.data.Json", "field": "doc"}

    def decoded(old, new):
        stream = Stream(columns=[*COLUMNS[:1], {**document, "default": '{"d": 0, "e": 1}'}])
        payload = {
            "op": "u",
            "before": {"id": 1, "doc": old},
            "after": {"id": 1, "doc": new},
            "source": {"connector": "postgresql", "lsn": 1, "ts_us": 1},
        }
        return decode(stream.add(b'{"id":1}', stream.value(payload))).change

    change = decoded('{"a": 1, "b": 2}', '{"b":2,"a":1.0}')
    assert change.before == change.after == change.certain
    assert change.row == {"id": 1, "doc": '{"b":2,"a":1.0}'}
    assert decoded('{"e":1,"d":0}', "{}").certain is None


def test_a_schema_whose_parts_are_anything_else_describes_nothing():
    row = {"type": "struct", "field": "after", "fields": [{"field": "id", "fields": True}]}
    source = {"connector": "yugabytedb", "lsn": "1:2:a:0:0"}
    document = {"schema": {"fields": [row]}, "payload": {**ENVELOPE, "source": source}}
    found = outcome(value=json.dumps(document).encode())
    assert isinstance(found, Decoded)
    assert found.change.row == {"id": "1"}


@pytest.mark.parametrize("depth", [2, 400])
def test_an_old_image_may_be_nested_as_deeply_as_a_parser_lets_it(depth):
    cell = json.loads('{"a":' * depth + "0" + "}" * depth)
    envelope = {**ENVELOPE, "op": "u", "before": {"id": 1, "name": cell}}
    found = outcome(value=json.dumps(envelope).encode())
    assert isinstance(found, Decoded)
    assert found.change.certain == {"name": cell}


def test_a_row_change_without_a_key_is_quarantined():
    assert outcome(key=None, value=json.dumps(ENVELOPE).encode()).reason == "no_key"


def test_a_value_that_does_not_fit_its_column_is_quarantined_and_the_column_named():
    stream = Stream(columns=[{"type": "int16", "field": "id"}])
    found = decode(stream.change("c", 1, 10, more={"id": 40_000}))
    assert (found.reason, found.detail) == ("bad_value", "after.id is no smallint")


@pytest.mark.parametrize(
    "value",
    [
        {"status": "BEGIN", "id": "1:2", "event_count": None, "ts_ms": 1},
        {"ts_ms": 1},
        {"ddl": "create table t", "databaseName": "d", "source": {}},
        {
            "id": "x",
            "type": "SKIPPED",
            "aggregate_type": "Initial Snapshot",
            "additional_data": None,
        },
        {"op": "m", "message": {"prefix": "p", "content": "aGk="}, "source": {}},
    ],
)
def test_debeziums_own_records_are_control(value):
    assert isinstance(outcome(value=json.dumps(value).encode()), Control)


@pytest.mark.parametrize("value", [None, b"null", b'{"schema":{},"payload":null}'])
def test_a_missing_value_in_any_spelling_is_a_tombstone(value):
    found = outcome(value=value)
    assert isinstance(found, Decoded)
    assert found.change.op == "tombstone"


def test_a_tombstone_whose_key_is_a_number_without_a_scale_needs_no_source_file():
    number = [{"type": "int32", "field": "scale"}, {"type": "bytes", "field": "value"}]
    variable = {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}
    schema = {"type": "struct", "fields": [{**variable, "fields": number, "field": "id"}]}
    key = {"schema": schema, "payload": {"id": {"scale": 0, "value": "Cg=="}}}
    found = outcome(key=json.dumps(key).encode(), value=None)
    assert isinstance(found, Decoded)
    assert found.change.key == '{"id":"10"}'


def test_a_create_that_a_snapshot_sent_is_a_read():
    source = {**ENVELOPE["source"], "snapshot": "first_in_data_collection"}
    found = outcome(value=json.dumps({**ENVELOPE, "source": source}).encode())
    assert found.change.op == "r"


@pytest.mark.parametrize(
    "header", [b'{"id":2}', b'{"schema":{"type":"struct"},"payload":{"id":2}}']
)
def test_the_other_key_of_a_move_is_the_same_in_every_spelling_of_the_header(header):
    value = json.dumps({**ENVELOPE, "op": "d", "after": None}).encode()
    record = Stream().add(b'{"id":1}', value, headers=[("__debezium.newkey", header)])
    assert decode(record).change.moved_to == '{"id":2}'


def logical(op, lsn, called, **row):
    """A record of YugabyteDB's connector for replication slots, which calls itself PostgreSQL."""
    source = {"connector": called, "lsn": lsn, "sequence": f'["{lsn - 1}","{lsn}"]', "ts_ms": lsn}
    cells = {column: value and {"value": value, "set": True} for column, value in row.items()}
    return json.dumps({"op": op, "after": cells, "source": {**source, "txId": 7}}).encode()


@pytest.mark.parametrize("name", ["postgresql", "YugabyteDB", "yugabytedb"])
def test_yugabytedb_s_records_of_a_replication_slot_are_read_where_the_source_file_says_so(name):
    stream = Stream()
    key = b'{"id":{"value":1,"set":true}}'
    stream.add(key, logical("c", 10, name, id=1, name="A", note="x"))
    stream.add(key, logical("u", 20, name, id=1, name="B", note=None))
    (table,) = interpret(stream.records, CONNECTORS["yugabytedb"]).tables
    assert [dict(version.row) for version in table.versions] == [
        {"id": 1, "name": "A", "note": "x"},
        {"id": 1, "name": "B", "note": "x"},
    ]


@pytest.mark.parametrize(
    ("source", "connector"),
    [
        ({"connector": "postgresql", "lsn": 1}, "postgresql"),
        ({"connector": "YugabyteDB", "lsn": 1}, "yugabytedb"),
        ({"lsn": 1, "sequence": '["0","1"]'}, "postgresql"),
        ({"lsn": None, "sequence": '["0","1"]'}, "postgresql"),
        ({"lsn": "1:4::0:0", "sequence": '[null,"1:4::0:0"]'}, "yugabytedb"),
        ({"commit_lsn": "00000027:00000db0:0007"}, "sqlserver"),
        ({"commit_lsn": "00000000:00001E36:000000000004A1B4"}, "db2"),
        ({"connector": "db2", "commit_lsn": "00000027:00000db0:0007"}, "db2"),
    ],
)
def test_without_a_source_file_the_records_say_whose_they_are(source, connector):
    assert connectors.of(source) is CONNECTORS[connector]
