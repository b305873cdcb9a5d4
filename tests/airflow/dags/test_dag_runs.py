"""The DAGs as Airflow runs them, each task in its order, against a broker and a lake."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from airflow.models.asset import AssetDagRunQueue, AssetEvent
from airflow.models.dag import DagModel
from airflow.sdk import Asset
from airflow.utils.session import create_session
from deltalake import DeltaTable
from strandline_airflow.dag import source_dags
from strandline_airflow.forms import erase
from strandline_airflow.landing import land_run
from strandline_airflow.pipelines import assets
from strandline_airflow.runs import compact_run
from strandline_airflow.runs.folder import read_manifest
from strandline_airflow.runs.orders import Order
from strandline_airflow.submission.operators import StrandlineSparkOperator

from examples.embedded_kafka import NOBODY
from strandline.alone.stores.tables import write_text
from strandline.errors import Terminal, Transient
from strandline.runs.manifest import TableCut, Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.segment import Landed, Limits

pytestmark = pytest.mark.usefixtures("airflow_database")

ORDERS = "shop.orders"
LANDED = "strandline://shop/landing"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).isoformat()
# Of a store the plan does not know whether the file is there.
RECONCILE = {"table": "orders", "snapshot": "s3://x/x.csv", "as_of": NOON, "dry_run": False}
NO_PATH = "no such path: s3://x/x.csv"
NOT_DONE = f"reconcile was not done: orders: {NO_PATH}; mend it and trigger reconcile__shop again"


@pytest.fixture
def land(source_path):
    """Runs `land__shop` once."""
    return source_dags(source_path)[0].test


@pytest.fixture
def compact(source_path):
    """Runs `compact__shop` once."""
    return source_dags(source_path)[1].test


@pytest.fixture
def dags(source_path):
    """The DAGs of source `shop` by name."""
    return {dag.dag_id: dag for dag in source_dags(source_path)}


@pytest.fixture
def spark_says(monkeypatch):
    """Lets every run apply all its tables, or fail on them with this error; no Spark is started."""

    def say(error, meanwhile=lambda: None):
        def execute(operator, context):
            assert context
            path = operator.application_args[1]
            manifest = read_manifest(path)
            tables = tuple(failed_on(cut.table, error) for cut in manifest.tables)
            meanwhile()
            receipt = Receipt(manifest.source, manifest.number, tables)
            write_text(path.replace("manifest.json", "receipt.json"), receipt.to_json())

        monkeypatch.setattr(StrandlineSparkOperator, "execute", execute)

    return say


def failed_on(table, error, **fields):
    return TableReceipt(table, f"shop.{table}", Counts(), error=error, **fields)


@pytest.fixture
def landed(lake):
    """The landed offsets by topic id and partition."""

    def read():
        rows = DeltaTable(lake.landing).to_pyarrow_table().to_pylist()
        found = {}
        for row in sorted(rows, key=lambda row: row["offset"]):
            found.setdefault((row["topic_id"], row["partition"]), []).append(row["offset"])
        return found

    return read


def states(run):
    return {
        task.task_id if task.map_index < 0 else f"{task.task_id}[{task.map_index}]": str(task.state)
        for task in run.get_task_instances()
    }


def events(run):
    """What the run told other DAGs: the extra of each event by asset."""
    with create_session() as session:
        found = session.query(AssetEvent).filter_by(
            source_dag_id=run.dag_id, source_run_id=run.run_id
        )
        return {event.asset.name: event.extra for event in found}


def test_what_arrived_is_landed_and_told(land, connected, records, landed):
    connected.create_topic("shop.t", 2)
    connected.replay([*records(5), *records(3, partition=1)])
    run = land()
    assert run.state == "success"
    assert sorted(landed().values()) == [[0, 1, 2], [0, 1, 2, 3, 4]]
    assert events(run) == {
        "strandline://shop/landing/shop.t": {"rows": 8, "next_offsets": {"0": 5, "1": 3}},
        "strandline://shop/landing": {"rows": 8, "topics": 1},
    }


def test_a_mapped_task_is_named_by_its_segments(land, connected, records):
    connected.create_topic("shop.t", 2)
    connected.replay([*records(5), *records(3, partition=1)])
    (task,) = [task for task in land().get_task_instances() if task.task_id == "land"]
    assert task.rendered_map_index == "shop.t[0] 0..5 and 1 more"


def test_a_second_run_without_news_lands_nothing_and_tells_nobody(land, connected, records):
    connected.create_topic("shop.t")
    connected.replay(records(5))
    land()
    run = land()
    assert states(run) == {
        "plan": "success", "land": "skipped", "collect": "success", "report": "success"
    }  # fmt: skip
    assert events(run) == {}


def test_a_topic_that_does_not_exist_yet_is_landed_once_it_does(land, connected, records, landed):
    assert land().state == "success"
    connected.create_topic("shop.t")
    connected.replay(records(2))
    assert land().state == "success"
    assert list(landed().values()) == [[0, 1]]


def test_what_arrived_wakes_the_compaction_of_its_source(land, connected, records):
    land()  # makes the DAGs known to Airflow
    with create_session() as session:
        session.get(DagModel, "compact__shop").is_paused = False
    connected.create_topic("shop.t")
    connected.replay(records(2))
    land()
    with create_session() as session:
        queued = session.query(AssetDagRunQueue).filter_by(target_dag_id="compact__shop").all()
        assert [one.asset.name for one in queued] == ["strandline://shop/landing"]


def test_the_asset_of_a_table_is_the_one_that_its_uri_alone_makes():
    # To Airflow assets of one URI with two names are two, and events reach one of them.
    assert assets.table("shop", "public.orders") == Asset("strandline://shop/tables/public.orders")


@pytest.fixture
def open_run(source, manifests, arrive):
    """A run that was planned and not published, as a Spark that failed leaves it."""
    arrive(ORDERS, 1)
    return manifests.next(source, NOON)


@pytest.mark.usefixtures("open_run", "known_dags")
@pytest.mark.parametrize("topic", [ORDERS, "shop.items"])
def test_what_landed_behind_an_open_run_wakes_compaction_again_until_it_is_applied(
    compact, arrive, spark_says, publications, topic
):
    spark_says(None)
    arrive(topic, 2)
    with create_session() as session:
        session.get(DagModel, "compact__shop").is_paused = False
        session.query(AssetDagRunQueue).delete()
    assert events(compact()) == {LANDED: {"rows": 2, "topics": 1}}
    with create_session() as session:
        queued = session.query(AssetDagRunQueue).filter_by(target_dag_id="compact__shop").all()
        assert [one.asset.name for one in queued] == [LANDED]
    assert events(compact()) == {}
    assert publications.last_number() == 2


@pytest.mark.usefixtures("published")
def test_what_landed_while_an_order_was_done_wakes_compaction(dags, arrive, spark_says):
    spark_says(None, meanwhile=lambda: arrive(ORDERS, 2))
    run = dags["reconcile__shop"].test(run_conf=RECONCILE)
    assert events(run) == {LANDED: {"rows": 2, "topics": 1}}


@pytest.mark.usefixtures("published")
def test_what_landed_behind_an_order_that_failed_wakes_compaction_once(dags, arrive, spark_says):
    spark_says(NO_PATH, meanwhile=partial(arrive, ORDERS, 2))
    assert LANDED in events(dags["reconcile__shop"].test(run_conf=RECONCILE))
    spark_says("column x: no int")
    assert events(dags["compact__shop"].test()) == {}


@pytest.mark.usefixtures("open_run")
def test_a_table_that_a_run_failed_on_does_not_wake_the_next(compact, arrive, spark_says):
    spark_says("column x: no int")
    arrive(ORDERS, 2)
    assert [events(compact()) for _ in range(2)] == [{}, {}]


@pytest.mark.usefixtures("open_run")
def test_heartbeats_behind_an_open_run_wake_nobody(compact, arrive, spark_says):
    spark_says(None)
    arrive("__debezium-heartbeat.shop", 1)
    assert events(compact()) == {}


def test_heartbeats_are_landed_but_wake_nobody(land, connected, records, landed):
    connected.create_topic("__debezium-heartbeat.shop")
    connected.replay(records(2, topic="__debezium-heartbeat.shop"))
    run = land()
    assert list(landed().values()) == [[0, 1]]
    assert events(run) == {}


def test_records_lost_to_retention_are_recorded_and_reported_after_everything_landed(
    land, connected, records, landed, lake
):
    connected.create_topic("shop.t")
    connected.replay(records(3))
    land()
    connected.replay(records(7))
    connected.delete_records("shop.t", 0, 6)
    run = land()
    assert run.state == "failed"
    assert states(run) == {
        "plan": "success", "land[0]": "success", "collect": "success", "report": "failed"
    }  # fmt: skip
    assert list(landed().values()) == [[0, 1, 2, 6, 7, 8, 9]]
    assert "strandline://shop/landing" in events(run)
    (gap,) = DeltaTable(lake.gaps).to_pyarrow_table().to_pylist()
    assert (gap["topic"], gap["start"], gap["end"], gap["seen_at"]) == (
        "shop.t", 3, 6, run.run_after
    )  # fmt: skip


def test_a_partition_without_a_leader_is_reported_and_the_others_are_landed(
    land, connected, records, landed
):
    connected.create_topic("shop.t", 2)
    connected.replay([*records(5), *records(3, partition=1)])
    connected.move_leader("shop.t", 1, NOBODY)
    run = land()
    assert states(run) == {
        "plan": "success", "land[0]": "success", "collect": "success", "report": "failed"
    }  # fmt: skip
    assert list(landed().values()) == [[0, 1, 2, 3, 4]]
    connected.move_leader("shop.t", 1, 1)
    assert land().state == "success"
    assert sorted(landed().values()) == [[0, 1, 2], [0, 1, 2, 3, 4]]


def test_a_partition_that_ends_before_what_is_landed_is_reported_and_the_others_are_landed(
    land, connected, records, landed, zone, kafka, capsys
):
    connected.create_topic("shop.t", 2)
    connected.replay([*records(5), *records(3, partition=1)])
    topic_id = kafka.topic_ids(["shop.t"])["shop.t"]
    zone.register([Landed("shop.t", topic_id, 0, 9, 9)])
    for _ in range(2):
        assert states(land())["report"] == "failed"
        told = capsys.readouterr().out
        assert "shop.t[0] ends at offset 5, but everything before 9 is landed: the broker" in told
    assert landed() == {(topic_id, 1): [0, 1, 2]}


def test_a_gap_is_reported_once(land, connected, records):
    connected.create_topic("shop.t")
    connected.replay(records(3))
    land()
    connected.replay(records(3))
    connected.delete_records("shop.t", 0, 6)
    assert land().state == "failed"
    assert land().state == "success"


def test_a_topic_created_again_is_landed_beside_its_old_self(
    land, connected, records, landed, kafka
):
    connected.create_topic("shop.t")
    old = kafka.topic_ids(["shop.t"])["shop.t"]
    connected.replay(records(3))
    land()
    connected.delete_topic("shop.t")
    connected.create_topic("shop.t")
    new = kafka.topic_ids(["shop.t"])["shop.t"]
    connected.replay(records(2))
    assert land().state == "success"
    assert landed() == {(old, 0): [0, 1, 2], (new, 0): [0, 1]}


def test_a_task_that_fails_does_not_hide_what_the_others_landed(
    land, connected, record, landed, monkeypatch
):
    for topic in ("shop.a", "shop.b"):
        connected.create_topic(topic)
        connected.replay([record(topic=topic)] * 5)
    really_land = land_run.land

    def after_retention(*arguments):
        connected.delete_records("shop.b", 0, 3)
        return really_land(*arguments)

    monkeypatch.setattr(land_run, "Limits", partial(Limits, group_records=5))
    monkeypatch.setattr(land_run, "land", after_retention)
    run = land()
    assert run.state == "failed"
    assert states(run) == {
        "plan": "success",
        "land[0]": "success",
        "land[1]": "failed",
        "collect": "success",
        "report": "upstream_failed",
    }
    assert list(landed().values()) == [[0, 1, 2, 3, 4]]
    assert sorted(events(run)) == ["strandline://shop/landing", "strandline://shop/landing/shop.a"]


def test_what_a_task_landed_before_it_failed_is_told(land, connected, records, monkeypatch):
    connected.create_topic("shop.t", 2)
    connected.replay([*records(5), *records(3, partition=1)])
    really_land = land_run.land

    def land_in_part(source, segments, *arguments):
        really_land(source, [replace(segments[0], end=2)], *arguments)
        raise Terminal("and no more")

    monkeypatch.setattr(land_run, "land", land_in_part)
    run = land()
    assert states(run)["land[0]"] == "failed"
    assert events(run) == {
        "strandline://shop/landing/shop.t": {"rows": 2, "next_offsets": {"0": 2, "1": 0}},
        LANDED: {"rows": 2, "topics": 1},
    }


def test_a_lake_that_cannot_be_written_fails_at_once_without_a_retry(land, connected, tmp_path):
    connected.create_topic("shop.t")
    (tmp_path / "lake").write_text("a file where the lake should be")
    run = land()
    assert run.state == "failed"
    assert [task.try_number for task in run.get_task_instances() if task.task_id == "plan"] == [1]


def test_a_missing_connection_fails_at_once_without_a_retry(land, capsys):
    run = land()
    assert run.state == "failed"
    assert states(run) == {
        "plan": "failed",
        "land": "upstream_failed",
        "collect": "success",
        "report": "upstream_failed",
    }
    assert [task.try_number for task in run.get_task_instances() if task.task_id == "plan"] == [1]
    assert "airflow connections add kafka_shop" in capsys.readouterr().out


def test_a_compaction_without_news_starts_no_spark(compact):
    run = compact()
    assert run.state == "success"
    assert states(run) == dict.fromkeys(("plan", "compact", "publish", "report"), "skipped")


def test_a_compaction_that_fails_on_a_table_says_that_its_records_stay_landed(
    dags, arrive, spark_says, capsys
):
    arrive(ORDERS, 1)
    spark_says("column x: no int")
    assert states(dags["compact__shop"].test())["report"] == "failed"
    told = capsys.readouterr().out
    assert "their records stay landed for the next run: orders: column x: no int" in told


@pytest.mark.usefixtures("published")
def test_an_order_that_fails_on_a_table_names_the_dag_to_trigger_again(
    dags, spark_says, publications, capsys
):
    spark_says(NO_PATH)
    run = dags["reconcile__shop"].test(run_conf=RECONCILE)
    assert states(run) == {
        "plan": "success", "reconcile": "success", "publish": "success", "report": "failed"
    }  # fmt: skip
    assert NOT_DONE in capsys.readouterr().out
    (row,) = publications.last()
    assert (row.number, row.error, row.held) == (2, NO_PATH, None)


@pytest.mark.usefixtures("published")
def test_a_compaction_that_finishes_an_order_names_the_dag_of_the_order(
    dags, source, manifests, spark_says, capsys
):
    cut = TableCut("orders", ORDERS, (), source.default_rules)
    manifests.order(source, NOON, Order(Work.RECONCILE, (cut,), {}, ()))
    spark_says(NO_PATH)
    assert states(dags["compact__shop"].test())["report"] == "failed"
    assert NOT_DONE in capsys.readouterr().out


@pytest.mark.parametrize("work", [work for work in Work if work is not Work.COMPACT])
def test_of_every_order_it_is_said_which_dag_does_it_again(dags, work):
    dag = "replay__shop" if work is Work.UNDO else f"{work}__shop"
    assert dag in dags
    with pytest.raises(Terminal, match=rf"{work} was not done: t: no; .* trigger {dag} again"):
        compact_run.refuse("shop", work, [failed_on("t", "no", transient=True)])


def test_a_compaction_that_may_do_better_by_itself_says_so():
    with pytest.raises(Transient, match="not applied, the next run tries again: t: no"):
        compact_run.refuse("shop", Work.COMPACT, [failed_on("t", "no", transient=True)])


def test_keys_are_not_erased_while_records_wait_and_it_is_said_why_they_do(
    source, arrive, publish, order
):
    arrive(ORDERS, 1)
    publish(orders={"error": "column x: no int"})
    order(Work.MAINTAIN)
    with pytest.raises(Terminal, match=r"1 offsets .* It is held: column x: no int"):
        erase.order(source, {"table": "orders", "keys": ["1"]}, NOON)


@pytest.fixture
def make_pools():
    """`python -m strandline_airflow.pools`: its exit code."""
    from strandline_airflow import pools  # noqa: PLC0415 - the database comes first

    return pools.main


@pytest.mark.usefixtures("source_path")
def test_the_pools_of_the_dags_are_made_once_and_told(make_pools, capsys):
    from airflow.models.pool import Pool  # noqa: PLC0415 - the database comes first

    for _ in range(2):
        assert make_pools([]) == 0
        assert capsys.readouterr().out == "pool strandline__shop\n"
    assert Pool.get_pool("strandline__shop").slots == 1


def test_a_source_without_a_pool_is_told_beside_the_others(make_pools, source_path, capsys):
    (source_path.parent / "odd.toml").write_text('connector = "clay tablets"')
    assert make_pools([str(source_path.parent)]) == 1
    told = capsys.readouterr()
    assert told.out == "pool strandline__shop\n"
    assert "odd.toml: 3 mistakes:" in told.err
    assert "- top level: unknown connector 'clay tablets'" in told.err


def test_pools_of_a_folder_that_is_not_there_are_refused(make_pools, tmp_path, capsys):
    assert make_pools([str(tmp_path / "nowhere")]) == 1
    assert "no such folder of sources; set STRANDLINE_SOURCES" in capsys.readouterr().err


def test_a_folder_without_sources_is_told(make_pools, tmp_path, capsys):
    assert make_pools([str(tmp_path)]) == 0
    assert capsys.readouterr().err == f"{tmp_path}: no source file, so there is no pool to make\n"
