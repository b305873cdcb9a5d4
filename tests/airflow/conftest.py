"""A source, its lake and its Kafka, all of them real; Airflow's own database where a DAG runs."""

from contextlib import ExitStack
from datetime import UTC, datetime

import airflow_stage
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from strandline_airflow.kafka import KafkaSegments
from strandline_airflow.landing import LandingZone
from strandline_airflow.manifests import Manifests
from strandline_airflow.publications import Publications

from examples.embedded_kafka import EmbeddedKafka
from strandline import source as source_file
from strandline.lake import SourceLake
from strandline.receipt import Counts, Receipt, TableReceipt
from strandline.record import Coordinates, Record
from strandline.segment import Landed, Segment

PREFIX = "shop"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def airflow_database():
    airflow_stage.initialise_database()


@pytest.fixture
def broker(request):
    """One broker; parametrised indirectly, a cluster of so many."""
    with EmbeddedKafka(getattr(request, "param", 1)) as broker:
        yield broker


@pytest.fixture
def connected(broker, monkeypatch):
    """The broker, behind the Airflow connection `kafka_shop`."""
    connection = airflow_stage.kafka_connection(broker.bootstrap)
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", connection)
    return broker


@pytest.fixture
def source_path(tmp_path, monkeypatch):
    """The file of source `shop`, alone in its folder."""
    folder = tmp_path / "sources"
    folder.mkdir()
    path = folder / "shop.toml"
    path.write_text(
        f'connector = "postgresql"\nlake = "{tmp_path / "lake"}"\n'
        f'[kafka]\nconnection = "kafka_shop"\ntopic_prefix = "{PREFIX}"\n'
    )
    monkeypatch.setenv("STRANDLINE_SOURCES", str(folder))
    return path


@pytest.fixture
def source(source_path):
    return source_file.load(source_path)


@pytest.fixture
def lake(source):
    return SourceLake(source.lake, source.name)


@pytest.fixture
def zone(lake):
    zone = LandingZone(lake)
    zone.ensure()
    return zone


@pytest.fixture
def new_kafka(connected):
    """Clients of the broker, as each task has its own."""
    assert connected.bootstrap
    with ExitStack() as clients:
        yield lambda kind=KafkaSegments: clients.enter_context(
            kind("kafka_shop", group="strandline.shop", patience_seconds=3)
        )


@pytest.fixture
def kafka(new_kafka):
    return new_kafka()


@pytest.fixture
def record():
    """A record of topic `shop.t`, from few words."""

    def build(number=0, partition=0, topic=f"{PREFIX}.t", **fields):
        defaults = {"timestamp": 1_795_218_116_230, "key": b"k", "value": b"v"}
        return Record(Coordinates(topic, partition, number), **{**defaults, **fields})

    return build


@pytest.fixture
def records(record):
    """So many records of one partition, each with its number as value."""

    def build(count, **fields):
        return [record(number, value=f"{number}".encode(), **fields) for number in range(count)]

    return build


@pytest.fixture
def manifests(lake):
    return Manifests(lake)


@pytest.fixture
def publications(lake):
    return Publications(lake)


@pytest.fixture
def arrive(connected, kafka, zone, record):
    """Lets so many more records of a topic arrive in Kafka and lands them."""
    reached = {}

    def arrive(topic, count):
        if topic not in reached:
            connected.create_topic(topic)
        start = reached.get(topic, 0)
        reached[topic] = start + count
        connected.replay([record(topic=topic)] * count)
        topic_id = kafka.topic_ids([topic])[topic]
        zone.register([Landed(topic, topic_id, 0, 0, 0)])
        zone.land(kafka, [Segment(topic, topic_id, 0, start, start + count)], NOON.date(), 1 << 20)
        return topic_id

    return arrive


@pytest.fixture
def publish(source, manifests, publications):
    """Plans and publishes a run; tables take what is said of them, or are applied."""

    def publish(planned_at=NOON, **said):
        manifest = manifests.next(source, planned_at.isoformat())
        tables = (applied(cut, **said.get(cut.table, {})) for cut in manifest.tables)
        publications.publish(manifest, Receipt(manifest.source, manifest.number, tuple(tables)))

    return publish


def applied(cut, **fields):
    count = sum(offsets.end - offsets.start for offsets in cut.ranges)
    counts = Counts(landed=count, changes=count, rows_written=count, history_rows=9, current_rows=4)
    changed = "error" not in fields
    return TableReceipt(
        cut.table, cut.topic, **{"counts": counts, "changed": changed, "seconds": 1.5, **fields}
    )


@pytest.fixture
def quarantine(lake):
    """Puts records into quarantine, as the engine does."""

    def put(table, *reasons, value=b"not json", run=1):
        rows = [
            {
                "table": table, "topic": f"shop.{table}", "topic_id": "id", "partition": 0,
                "offset": offset, "key": b'{"id":1}', "value": value, "record_key": '{"id":1}',
                "reason": reason, "detail": "where and why", "run": run,
            }
            for offset, reason in enumerate(reasons)
        ]  # fmt: skip
        write_deltalake(lake.quarantine, pa.Table.from_pylist(rows), mode="append")

    return put
