"""A source, its lake and its Kafka, all of them real; Airflow's own database where a DAG runs."""

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from servers import receivers
from stages import airflow_stage, page_stage
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.runs.manifests import Manifests
from strandline_airflow.runs.orders import Order, applied_of
from strandline_airflow.runs.publications import Publications

from examples.embedded_kafka import EmbeddedKafka
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import ClosedBy
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.segment import Landed, Segment
from strandline.sources import source as source_file

PREFIX = "shop"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LEFT = Counts(history_rows=9, current_rows=4)


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
def mails(monkeypatch):
    with receivers.mail_server() as (port, mails):
        extra = {"disable_tls": True, "disable_ssl": True, "from_email": "strandline@example.com"}
        receivers.connection(monkeypatch, "smtp_default", conn_type="smtp", port=port, extra=extra)
        yield mails


@pytest.fixture
def hook(monkeypatch):
    with receivers.web_server() as (port, hook):
        receivers.connection(monkeypatch, "ops_hook", conn_type="http", schema="http", port=port)
        yield hook


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


@pytest.fixture
def order(source, manifests, publications):
    """Plans and publishes an order for the cuts, or for what is applied of every table.

    Tables take what is said of them, or are left as they are.
    """

    def order(work, planned_at=NOON, cuts=None, **said):
        rows = (row for row in publications.last() if row.table)
        cuts = cuts or tuple(
            TableCut(row.table, row.topic, applied_of(row), source.default_rules) for row in rows
        )
        manifest = manifests.order(source, planned_at.isoformat(), Order(work, cuts, {}, ()))
        tables = (
            applied(cut, **{"counts": LEFT, "changed": False, **said.get(cut.table, {})})
            for cut in cuts
        )
        publications.publish(manifest, Receipt(manifest.source, manifest.number, tuple(tables)))
        return manifest

    return order


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
                "offset": offset, "timestamp": NOON, "key": b'{"id":1}', "value": value,
                "record_key": '{"id":1}', "reason": reason, "detail": "where and why", "run": run,
            }
            for offset, reason in enumerate(reasons)
        ]  # fmt: skip
        write_deltalake(lake.quarantine, pa.Table.from_pylist(rows), mode="append")

    return put


@pytest.fixture(scope="module")
def server():
    """Airflow's API server with a user of each role."""
    with page_stage.airflow() as server:
        yield server


@pytest.fixture
def history(lake):
    """Writes versions of table `orders`, each from its key, values and what else it is."""

    def write(*versions):
        rows = [
            {**page_stage.version(number, **fields).cells(), "_key": fields["key"]}
            for number, fields in enumerate(versions)
        ]
        path = lake.history("orders")
        write_deltalake(path, pa.Table.from_pylist(rows, page_stage.HISTORY), mode="overwrite")

    return write


@pytest.fixture
def published(arrive, publish, history):
    """Source `shop` with a published table of some keys, one of which moved."""
    history(
        {"key": '{"id":1}', "ended": 1, "closed_by": ClosedBy.UPDATE},
        {"key": '{"id":1}', "name": page_stage.EVIL, "ended": 3, "closed_by": ClosedBy.KEY_MOVE,
         "moved_to": '{"id":9}'},
        {"key": '{"id":2}', "ended": 4, "closed_by": ClosedBy.TRUNCATE},
        {"key": '{"id":9}', "name": page_stage.EVIL, "moved_from": '{"id":1}'},
    )  # fmt: skip
    arrive(page_stage.ORDERS, 4)
    publish(orders={"history_version": 0})


@pytest.fixture
def widened():
    """Gives a table the feature that it has from Spark where a column's type was widened."""

    def widened(uri):
        (log,) = Path(uri, "_delta_log").glob("*.json")
        features = {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        told = [{"protocol": protocol} if "protocol" in each else each for each in actions]
        log.write_text("".join(json.dumps(each) + "\n" for each in told))

    return widened


@pytest.fixture
def refused_once(arrive, publish, quarantine, known_dags):  # noqa: ARG001 - its DAGs are known
    """A published table with a record in quarantine, and its DAGs known to Airflow."""
    arrive(page_stage.ORDERS, 1)
    publish()
    quarantine("orders", "invalid_json")


@pytest.fixture
def known_dags(source_path):  # noqa: ARG001 - whose DAGs they are
    """The source's DAGs, in Airflow's database."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: PLC0415 - has a
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db  # noqa: PLC0415 - database

    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(DagBag(airflow_stage.PROJECT / "dags"), "dags-folder", None)
