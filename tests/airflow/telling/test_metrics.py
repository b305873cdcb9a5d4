"""Gauges: what the watch and publications send through Airflow's metrics, to a real StatsD port."""

import atexit
import re
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import opentelemetry.metrics
import pytest
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import otel_logger, stats_utils
from servers import receivers
from stages import airflow_stage
from strandline_airflow.monitoring.watching import Watcher
from strandline_airflow.runs import compact_run
from strandline_airflow.runs.folder import write_manifest, write_receipt

from strandline.errors import StrandlineError
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.sources import source as source_file

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ORDERS = "shop.orders"
MONITORING = (airflow_stage.PROJECT / "docs" / "monitoring.md").read_text()
RECEIPT = TableReceipt(
    "orders",
    ORDERS,
    Counts(landed=4, changes=3, quarantined=1, rows_written=3, rows_closed=1, history_rows=3),
    changed=True,
    seconds=1.5,
)


@pytest.fixture
def begun(monkeypatch, airflow_database):
    """Airflow's metrics with these settings, as a process that runs a task begins with them."""
    assert airflow_database is None

    @contextmanager
    def begun(**settings):
        with monkeypatch.context() as patched:
            for name, value in settings.items():
                patched.setenv(f"AIRFLOW__METRICS__{name.upper()}", str(value))
            _initialize()
            yield
        _initialize()

    return begun


def _initialize():
    stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=True)


@pytest.fixture
def statsd():
    with receivers.statsd_server() as statsd:
        yield statsd


@pytest.fixture
def plain(begun, statsd):
    """A StatsD that Airflow's settings name, without tags."""
    with begun(statsd_on=True, statsd_host="127.0.0.1", statsd_port=statsd.port):
        yield statsd


@pytest.fixture
def tagged(begun, statsd):
    """A StatsD that Airflow's settings name, with tags as InfluxDB writes them."""
    settings = {"statsd_host": "127.0.0.1", "statsd_port": statsd.port}
    with begun(statsd_on=True, statsd_influxdb_enabled=True, **settings):
        yield statsd


@pytest.fixture
def run(source, manifests, lake):
    """Publishes what has landed as a run that left this receipt; the path of its manifest."""
    assert lake

    def run(*tables):
        manifest = manifests.next(source, NOON.isoformat(), NOON.isoformat())
        write_receipt(manifest, Receipt(source.name, manifest.number, tables))
        path = write_manifest(manifest)
        compact_run.publish(path)
        return path

    return run


def of_table(name):
    return f"airflow.strandline.table.{name}", (("source", "shop"), ("table", "orders"))


def of_source(name):
    return f"airflow.strandline.source.{name}", (("source", "shop"),)


def test_a_look_sends_how_each_table_stands(tagged, source, arrive, publish, quarantine):
    arrive(ORDERS, 2)
    publish()
    quarantine("orders", "invalid_json")
    Watcher(source).look(NOON)
    sent = tagged.gauges()
    names = "waiting_seconds", "lag", "unlanded", "held", "quarantine", "gaps"
    assert [sent[of_table(name)] for name in names] == [0, 0, 0, 0, 1, 0]
    assert [sent[of_table(name)] for name in ("history_rows", "current_rows")] == [9, 4]
    assert sent[of_table("freshness_seconds")] == 2 * 60 * 60


def test_what_waits_is_sent_in_seconds_and_offsets(
    tagged, source, arrive, publish, zone, connected, record
):
    arrive(ORDERS, 1)
    publish()
    arrive(ORDERS, 3)
    connected.replay([record(topic=ORDERS)] * 5)
    Watcher(source).look(zone.landed_at() + timedelta(hours=3))
    sent = tagged.gauges()
    names = "waiting_seconds", "lag", "unlanded"
    assert [sent[of_table(name)] for name in names] == [3 * 60 * 60, 3, 5]
    names = "tables", "late_tables", "held_tables", "alerts", "watched", "kafka_silent"
    assert [sent[of_source(name)] for name in names] == [1, 1, 0, 1, 1, 0]


def test_a_table_that_is_held_is_one_until_it_is_freed(tagged, source, arrive, publish):
    arrive(ORDERS, 1)
    for error, held in (("column x: no int", 1), (None, 0)):
        publish(**({"orders": {"error": error}} if error else {}))
        Watcher(source).look(NOON)
        sent = tagged.gauges()
        assert sent[of_table("held")] == sent[of_source("held_tables")] == held
        assert sent[of_source("alerts")] == held


def test_of_a_kafka_that_is_silent_nobody_says_that_nothing_is_left_to_land(
    tagged, source, arrive, publish, monkeypatch
):
    arrive(ORDERS, 1)
    publish()
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA_SHOP")
    Watcher(source).look(NOON)
    sent = tagged.gauges()
    assert sent[of_source("kafka_silent")] == 1
    assert of_table("unlanded") not in sent


def test_that_nobody_could_look_is_sent(tagged, source, tmp_path):
    (tmp_path / "lake").write_text("a file where the lake should be")
    with pytest.raises(StrandlineError):
        Watcher(source).look(NOON)
    assert tagged.gauges() == {of_source("watched"): 0}


def test_a_publication_sends_what_its_run_did(tagged, arrive, run):
    arrive(ORDERS, 4)
    run(RECEIPT)
    sent = tagged.gauges()
    tags = ("source", "shop"), ("table", "orders")
    names = "landed", "changes", "duplicates", "quarantined", "rows_written", "rows_closed"
    did = [sent[f"airflow.strandline.compaction.{name}", tags] for name in (*names, "seconds")]
    assert did == [4, 3, 0, 1, 3, 1, 1.5]
    tags = ("source", "shop"), ("work", "compact")
    names = "tables", "failed_tables"
    assert [sent[f"airflow.strandline.run.{name}", tags] for name in names] == [1, 0]
    assert sent["airflow.strandline.run.seconds", tags] > 0


def test_a_run_that_is_published_twice_sends_the_same_twice(tagged, arrive, run):
    arrive(ORDERS, 4)
    path = run(RECEIPT)
    first = tagged.gauges()
    compact_run.publish(path)
    assert tagged.gauges() == first


def test_an_order_sends_how_long_it_took_and_no_numbers_of_a_compaction(
    tagged, source, arrive, publish, order
):
    arrive(ORDERS, 1)
    publish()
    manifest = order(Work.MAINTAIN)
    write_receipt(manifest, Receipt(source.name, manifest.number, (RECEIPT,)))
    compact_run.publish(write_manifest(manifest))
    sent = tagged.gauges()
    assert {name for name, _ in sent} == {
        f"airflow.strandline.run.{name}" for name in ("seconds", "tables", "failed_tables")
    }
    assert {dict(tags)["work"] for _, tags in sent} == {"maintain"}


def test_where_airflow_sends_no_tags_they_end_the_name(plain, source, arrive, publish):
    arrive("shop.public.orders", 1)
    publish()
    Watcher(source).look(NOON)
    sent = plain.gauges()
    assert sent["airflow.strandline.table.lag.shop.public__orders", ()] == 0
    assert sent["airflow.strandline.source.tables.shop", ()] == 1


def test_a_collector_of_opentelemetry_gets_them_with_their_tags(
    begun, source, arrive, publish, monkeypatch
):
    arrive(ORDERS, 2)
    publish()
    arrive(ORDERS, 3)
    with receivers.otlp_collector() as (port, gauges):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        with begun(otel_on=True):
            Watcher(source).look(NOON)
            telemetry = opentelemetry.metrics.get_meter_provider()
            telemetry.force_flush()  # as a task's process does at its end
            telemetry.shutdown()
            atexit.unregister(otel_logger.otel_logger.flush_otel_metrics)
    assert gauges[of_table("lag")] == 3
    assert gauges[of_source("tables")] == 1


def test_names_have_no_letters_that_statsd_would_read_as_its_own(tagged, source_path, arrive):
    table = '[[table]]\ntopic = "shop.orders"\nname = "public.order$lines"\n'
    source_path.write_text(source_path.read_text() + table)
    arrive(ORDERS, 1)
    Watcher(source_file.load(source_path)).look(NOON)
    tags = ("source", "shop"), ("table", "public.order_lines")
    assert tagged.gauges()["airflow.strandline.table.lag", tags] == 1


def test_the_page_of_the_metrics_has_each_gauge_with_its_unit(tagged, source, arrive, run):
    arrive(ORDERS, 4)
    run(RECEIPT)
    Watcher(source).look(NOON)
    sent = {name.removeprefix("airflow.") for name, _ in tagged.gauges()}
    told = re.findall(r"^\| `(strandline[\w.]+)` \| [\w, ]+ \|", MONITORING, re.MULTILINE)
    assert sorted(told) == sorted(sent)


def test_without_metrics_nothing_is_sent(begun, statsd, source, arrive, publish):
    arrive(ORDERS, 1)
    publish()
    with begun(statsd_host="127.0.0.1", statsd_port=statsd.port):
        Watcher(source).look(NOON)
    assert statsd.gauges() == {}
