"""The demo's source in Avro as it is, with a real registry in place of the demo's own."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from stages import airflow_stage
from strandline_airflow.landing import land_run
from strandline_airflow.runs import alone_run, compact_run

from examples import captures
from examples.embedded_kafka import EmbeddedKafka
from examples.histories import read, receipts, rows_of
from examples.tally import tally
from examples.truth import compare
from strandline.runs.lake import SourceLake
from strandline.sources import source as source_file

pytestmark = pytest.mark.heavy

CAPTURE = captures.named("postgres_inventory_avro")
FILE = airflow_stage.PROJECT / "dags" / "sources" / f"{CAPTURE.source}.toml"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def recording(registry):
    """The recording's waves, whose data have the ids that the registry gives their schemas."""
    client = SchemaRegistryClient({"url": registry.url})
    heads = {}
    for path in CAPTURE.schemas.glob("*.avsc"):
        schema = Schema(path.read_text(encoding="utf-8"), "AVRO")
        number = client.register_schema(f"demo-{path.stem}", schema)
        heads[b"\0" + int(path.stem).to_bytes(4)] = b"\0" + number.to_bytes(4)

    def framed(data):
        return data and heads[data[:5]] + data[5:]

    waves = map(CAPTURE.wave, captures.WAVES)
    return [
        [replace(each, key=framed(each.key), value=framed(each.value)) for each in wave]
        for wave in waves
    ]


@pytest.fixture
def broker(monkeypatch, recording, registry):
    with EmbeddedKafka() as broker:
        broker.create_topics_of(record for wave in recording for record in wave)
        kafka = airflow_stage.kafka_connection(broker.bootstrap)
        http = json.dumps({"conn_type": "http", "host": registry.url})
        for name, connection in ((CAPTURE.connection, kafka), (CAPTURE.registry, http)):
            monkeypatch.setenv(f"AIRFLOW_CONN_{name}".upper(), connection)
        yield broker


def test_the_demo_s_source_in_avro_has_the_recorded_truth_by_a_real_registry(
    broker, recording, tmp_path, monkeypatch
):
    monkeypatch.setenv(source_file.LAKE_VARIABLE, str(tmp_path))
    source = source_file.load(FILE)
    for hour, wave in enumerate(recording):
        broker.replay(wave)
        moment = NOON + timedelta(hours=hour)
        for group in land_run.plan(source, moment).groups:
            land_run.land(source, group, moment)
        manifest = compact_run.plan(source, moment)
        alone_run.work_off(manifest)
        assert compact_run.publish(manifest).failed == ()
    lake = SourceLake(source.lake, source.name)
    histories = tuple(read(lake, table) for table in tally(receipts(lake)))
    found = compare(rows_of(histories), CAPTURE.truth(), CAPTURE.clock_us)
    assert found.total, found.disagreements
    assert found.keys == 147
