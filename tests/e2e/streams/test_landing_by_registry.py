"""Avro by a real registry: Kafka, landing, compaction and history, also while the registry is away.

Records are written by Confluent's serializers and land in Airflow's DAG.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import SerializationContext
from strandline_airflow.forms import requeue
from strandline_airflow.landing import land_run
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.registry.lookup import Lookup
from strandline_airflow.runs import compact_run

from strandline.alone.stores import schemas
from strandline.alone.stores.landing import LANDING
from strandline.errors import Terminal
from strandline.runs.segment import Segment
from strandline.sources.registry import Kind

pytestmark = pytest.mark.heavy

TOPIC = "shop.public.item"
SECTION = '[registry]\nconnection = "shop_registry"\ntimeout = "5s"\nretries = 0\n'
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]}
SOURCE = {
    "type": "record",
    "name": "Source",
    "fields": [
        {"name": "connector", "type": "string"},
        {"name": "snapshot", "type": "string"},
        {"name": "sequence", "type": "string"},
        {"name": "lsn", "type": "long"},
        {"name": "txId", "type": "long"},
        {"name": "ts_us", "type": "long"},
    ],
}


def envelope(*more):
    """The schema of a value; each other column is a schema of its own."""
    columns = [{"name": "id", "type": "int"}, *map(optional, ("name", *more))]
    row = {"type": "record", "name": "Value", "fields": columns}
    return {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", row]},
            {"name": "after", "type": ["null", "Value"]},
            {"name": "source", "type": SOURCE},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": "long"},
        ],
    }  # fmt: skip


def optional(name):
    return {"name": name, "type": ["null", "string"], "default": None}


class Avro:
    """Changes of the shop's table as a connector with Confluent's converter writes them."""

    def __init__(self, shop, registry):
        self.stream, self.registry, self.at = shop.stream, registry, 0

    def change(self, op, key, *more, **cells):
        self.at += 10
        client = SchemaRegistryClient({"url": self.registry.url})
        value = {
            "before": None, "after": {"id": key, **cells}, "op": op, "ts_ms": 1,
            "source": self.stream.source(self.at, "false"),
        }  # fmt: skip
        parts = []
        for part, schema, datum in (("key", KEY, {"id": key}), ("value", envelope(*more), value)):
            serializer = AvroSerializer(client, json.dumps(schema))
            parts.append(serializer(datum, SerializationContext(TOPIC, part, [])))
        self.stream.add(*parts)


@pytest.fixture(scope="module")
def shop(shop_on_apache_kafka, registry):
    with pytest.MonkeyPatch.context() as environment:
        connection = json.dumps({"conn_type": "http", "host": registry.url})
        environment.setenv("AIRFLOW_CONN_SHOP_REGISTRY", connection)
        yield shop_on_apache_kafka


@pytest.fixture(scope="module")
def avro(shop, registry):
    """The table, with one row, which was refused before the source had a registry."""
    avro = Avro(shop, registry)
    avro.change("c", 1, name="ada")
    shop.arrive()
    shop.refused = [row["reason"] for row in shop.rows(shop.lake.quarantine)]
    shop.says(SECTION)
    shop.order(requeue.FORM, dry_run=False)
    return avro


@pytest.mark.usefixtures("avro")
def test_what_was_refused_before_there_was_a_registry_is_looked_up_by_a_requeue(shop):
    assert shop.refused == ["unknown_schema"]
    assert shop.history()[0].startswith("1: ada")
    assert shop.rows(shop.lake.quarantine) == []


@pytest.fixture
def registry_again(registry):
    """The registry, which runs again when the test is over."""
    yield registry
    if registry.process is None:
        registry.start()


def test_avro_goes_from_kafka_to_its_history_by_the_registry(shop, avro):
    avro.change("u", 1, name="bob")
    shop.arrive()
    assert shop.history()[:2] == ["1: ada|update", "1: bob"]
    assert shop.published().counts.quarantined == 0
    named = {each.subject for each in schemas.known(shop.lake.schemas).known.values()}
    assert named == {f"{TOPIC}-key", f"{TOPIC}-value"}


def test_compaction_needs_no_registry(shop, avro, registry_again):
    avro.change("c", 2, name="eve")
    shop.land()
    registry_again.stop()
    shop.work_off(compact_run.plan(shop.source, datetime.now(UTC)))
    assert shop.history()[-1] == "2: eve"


def test_a_registry_that_is_away_holds_up_no_record_and_loses_none(shop, avro, registry_again):
    avro.change("c", 3, "away", name="ivy", away="yes")
    registry_again.stop()
    shop.land()
    with pytest.raises(Terminal, match=r"gives no answer.*cannot be reached") as held:
        shop.work_off(compact_run.plan(shop.source, datetime.now(UTC)))
    assert registry_again.url in str(held.value)
    registry_again.start()
    assert "failed" not in shop.trigger("land").values()  # which has nothing to land
    shop.work_off(compact_run.plan(shop.source, datetime.now(UTC)))
    assert shop.history()[-1] == "3: ivy"
    assert shop.published().counts.quarantined == 0


def test_a_registry_that_is_killed_in_the_middle_of_landing_loses_nothing(
    shop, avro, registry_again
):
    avro.change("c", 4, "one", name="joe", one="1")
    avro.change("c", 5, "two", name="max", two="2")
    shop.broker.replay(shop.stream.records[shop.sent :])
    shop.sent = len(shop.stream.records)
    lookup, asked = Lookup(shop.source), []

    def before(batches):
        lookup.land(batches)
        if not asked:
            registry_again.stop()
        asked.append(len(batches))

    zone = LandingZone(shop.lake)
    with land_run.opened(shop.source) as kafka:
        topic_id = kafka.topic_ids([TOPIC])[TOPIC]
        segment = Segment(TOPIC, topic_id, 0, 0, shop.sent)
        zone.land(kafka, [segment], datetime.now(UTC).date(), 1, before)
    assert len(asked) == 2
    with pytest.raises(Terminal, match="no schema is known"):
        shop.work_off(compact_run.plan(shop.source, datetime.now(UTC)))
    registry_again.start()
    assert "failed" not in shop.trigger("land").values()
    shop.work_off(compact_run.plan(shop.source, datetime.now(UTC)))
    assert shop.history()[-2:] == ["4: joe", "5: max"]
    assert len(shop.rows(shop.lake.landing)) == shop.sent


def test_apicurio_s_own_ids_are_looked_up_with_what_they_refer_to(shop, registry, monkeypatch):
    """References of an artifact are artifacts, each with a content of its own."""
    connection = json.dumps({"conn_type": "http", "host": registry.native_url})
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_REGISTRY", connection)
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema("inner", Schema(json.dumps({**KEY, "name": "x.Inner"}), "AVRO"))
    outer = {**KEY, "name": "x.Outer", "fields": [{"name": "of", "type": "x.Inner"}]}
    reference = SchemaReference("x.Inner", "inner", 1)
    number = client.register_schema("outer", Schema(json.dumps(outer), "AVRO", [reference]))
    found = json.loads(registry.native(f"/search/versions?contentId={number}"))
    (version,) = found["versions"]
    source = replace(shop.source, registry=replace(shop.source.registry, kind=Kind.APICURIO))
    data = [b"\0" + number.to_bytes(4), b"\0" + version["globalId"].to_bytes(8)]
    empty = pa.table({name: pa.nulls(2, LANDING.field(name).type) for name in LANDING.names})
    column = empty.schema.get_field_index("value")
    batch = empty.set_column(column, "value", pa.array(data, pa.binary()))
    Lookup(source).land(batch.to_batches())
    known = schemas.known(shop.lake.schemas)
    for name in (f"apicurio-content:{number}", f"apicurio-global:{version['globalId']}"):
        schema = known.known[name]
        assert schema.subject == "outer"
        assert json.loads(known.texts(schema)[0])["name"] == "x.Inner"
