"""The page, as Airflow's own API server serves it to users that it has logged in."""

from datetime import timedelta
from html.parser import HTMLParser
from urllib.parse import quote

import pyarrow as pa
import pytest
from airflow.api.common.trigger_dag import trigger_dag
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.pool import Pool
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType
from deltalake import write_deltalake
from sqlalchemy import delete, select
from stages import airflow_stage
from stages.page_stage import EVIL, HISTORY, NOON, ORDERS, client, version
from strandline_airflow.monitoring.watching import Watcher
from strandline_airflow.page import asked, chapters
from strandline_airflow.runs.orders import Order

from strandline.changes.version import ClosedBy
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, Receipt
from strandline.runs.segment import Gap


@pytest.fixture
def ann(server):
    return client(server, "ann", "a")


class Document(HTMLParser):
    """The text of a page, its links, and its elements."""

    def __init__(self, answer):
        super().__init__()
        self.status = answer.status_code
        self.text, self.links, self.elements, self.styling = "", [], [], False
        self.feed(answer.text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.styling = tag in {"style", "script"}
        leads = {"href", "src"} if ("method", "post") in attrs else {"href", "src", "action"}
        self.links += [value for name, value in attrs if name in leads]

    def handle_data(self, data):
        if data.strip() and not self.styling:
            self.text += " ".join(data.split()) + " "


@pytest.fixture
def see(ann):
    def see(view, by=ann, **query):
        return Document(by.get(view, params=query or None))

    return see


# ---------------------------------------------------- who may see it


def test_nobody_sees_it_who_has_not_logged_in(server, see):
    found = see("", by=client(server))
    assert found.status == 401
    assert "Log in to Airflow" in found.text


def test_a_viewer_sees_it(server, see, source):
    assert source.name in see("", by=client(server, "vic", "v")).text


def test_it_only_reads(server, source):
    for view in ("", "source", "table", "quarantine", "key", "record", "changes", "change", "rows"):
        answer = client(server, "vic", "v").post(view, params={"source": source.name})
        assert answer.status_code == 405


def test_a_source_whose_dag_a_user_may_not_read_is_not_there_for_him(see, source, monkeypatch):
    allow_only(monkeypatch, None)
    assert source.name not in see("").text
    found = see("source", source=source.name)
    assert found.status == 404
    assert found.text.count(source.name) == 1  # as he spelt it
    assert "there are: none that you may see" in found.text


REQUEUE = {"source": "shop", "table": "orders", "reason": "invalid_json"}


@pytest.mark.usefixtures("refused_once")
def test_whoever_may_trigger_the_requeue_has_a_button_for_it(ann, see):
    assert "Read all of them again" in see("quarantine", source="shop", table="orders").text
    answer = ann.post("requeue", params=REQUEUE)
    assert answer.status_code == 200
    assert [each.status_code for each in answer.history] == [303]
    with create_session() as session:
        hers = DagRun.dag_id == "requeue__shop", DagRun.triggering_user_name == "ann"
        run = session.scalars(select(DagRun).where(*hers)).one()
    assert run.conf == {"tables": ["orders"], "reason": "invalid_json", "dry_run": False}
    for seen in (answer, ann.get(str(answer.url))):  # loaded anew it triggers no other
        assert f"../dags/requeue__shop/runs/{quote(run.run_id)}" in Document(seen).links
    with create_session() as session:
        assert session.scalars(select(DagRun).where(*hers)).one().run_id == run.run_id


@pytest.mark.usefixtures("refused_once")
def test_a_viewer_has_no_button_and_cannot_do_without_it(server, see):
    vic = client(server, "vic", "v")
    assert "again" not in see("quarantine", by=vic, source="shop", table="orders").text
    found = Document(vic.post("requeue", params=REQUEUE))
    assert found.status == 403
    assert "may not trigger requeue__shop" in found.text


@pytest.mark.usefixtures("refused_once")
@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}]
)
def test_the_form_of_another_site_triggers_nothing(ann, headers):
    found = Document(ann.post("requeue", params=REQUEUE, headers=headers))
    assert found.status == 403
    assert "another site" in found.text


def allow_only(monkeypatch, dag):
    """Lets Airflow's auth manager, whose roles know no single DAG, allow this one alone."""

    def is_authorized_dag(_, details, **__):
        return details.id == dag

    monkeypatch.setattr(SimpleAuthManager, "is_authorized_dag", is_authorized_dag)


# ---------------------------------------------------- what it shows


@pytest.mark.usefixtures("published")
def test_the_overview_shows_how_every_table_stands(see, arrive):
    arrive("shop.items", 3)
    text = see("").text
    assert "orders fresh – of 2h 0" in text  # noqa: RUF001 - the dash that is shown
    assert "items waiting 0s of 2h 3" in text


def test_a_source_of_which_nothing_has_landed_says_so(see, source):
    text = see("source", source=source.name).text
    assert "nothing has landed yet; as of" in text
    assert "never UTC" not in text


def test_a_source_file_that_is_not_right_is_told_beside_the_others(see, source_path):
    (source_path.parent / "odd.toml").write_text('connector = "clay tablets"')
    text = see("").text
    assert "unknown connector 'clay tablets'" in text
    assert "shop" in text
    assert "unknown connector" in see("source", source="odd").text


def test_what_is_wrong_with_a_source_file_is_told_to_whoever_may_read_its_dag(
    see, source_path, monkeypatch
):
    for name in ("hers", "theirs"):
        (source_path.parent / f"{name}.toml").write_text('connector = "clay tablets"')
    allow_only(monkeypatch, "compact__hers")
    text = see("").text
    assert "hers.toml: 3 mistakes: - top level: unknown connector" in text
    assert "theirs" not in text
    found = see("source", source="theirs")
    assert (found.status, "clay" in found.text) == (404, False)


def test_a_source_file_that_breaks_what_reads_it_is_told_too(see, source_path, monkeypatch):
    (source_path.parent / "odd.toml").write_text("x = 1")
    real = asked.source_file.load

    def load_badly(path):
        return {}["column"] if path.stem == "odd" else real(path)

    monkeypatch.setattr(asked.source_file, "load", load_badly)
    text = see("").text
    assert "odd.toml: KeyError: 'column'" in text
    assert "shop" in text


@pytest.fixture
def expecting(source_path):
    source_path.write_text(f"{source_path.read_text()}[expectations]\nmin_rows = 99\n")


@pytest.mark.usefixtures("expecting")
def test_a_table_that_is_not_as_expected_says_so_until_it_is_released_and_then_by_whom(
    see, arrive, publish, source, manifests, publications
):
    arrive("shop.orders", 1)
    publish(orders={"history_version": 0})
    held = see("table", source="shop", table="orders").text
    assert "orders is not published, since it is not as expected: min_rows is 99" in held
    told = {"topics": ["shop.orders"], "by": "ann", "why": "<b>a clean-up</b>"}
    manifest = manifests.order(source, "2026-11-20T13:00:00Z", Order(Work.RELEASE, (), told, ()))
    publications.publish(manifest, Receipt("shop", manifest.number, ()))
    released = see("table", source="shop", table="orders").text
    assert "not as expected" not in released
    assert "2 release by ann: <b>a clean-up</b>" in released


@pytest.mark.usefixtures("published")
def test_a_table_shows_runs_gaps_and_quarantine(see, zone, quarantine):
    zone.record_gaps([Gap(ORDERS, "id", 3, 7, 9)], NOON)
    quarantine("orders", "not_json", "not_json", "no_key")
    found = see("table", source="shop", table="orders")
    assert found.status == 200
    assert "unverified" in found.text
    assert "3 7 8 2026-11-20 12:00:00" in found.text
    assert "no_key: 1" in found.text
    assert "not_json: 2" in found.text


def test_a_held_table_shows_why(see, arrive, publish):
    arrive(ORDERS, 1)
    publish(orders={"error": "column x: text is no int", "counts": Counts()})
    found = see("table", source="shop", table="orders")
    assert "Held since 2026-11-20 12:00:00 UTC: column x: text is no int" in found.text


@pytest.mark.usefixtures("published")
def test_every_run_is_shown_with_what_it_did(see, order):
    order(Work.RECONCILE, orders={"error": "no such path: /x.csv"})
    found = see("source", source="shop")
    assert "Last runs run what began, UTC published, UTC" in found.text
    assert "2 reconcile 2026-11-20 12:00:00 0 0 0 1 1.5 1 compact 2026-11-20" in found.text
    table = see("table", source="shop", table="orders").text
    assert "2 reconcile 2026-11-20 12:00:00 no such path: /x.csv 1.5 1 compact" in table
    assert "last run 1, began 2026-11-20 12:00:00 UTC" in table
    assert "Held" not in table


@pytest.mark.usefixtures("published")
def test_what_kafka_has_beyond_is_shown_of_one_source(see, connected, record):
    connected.replay([record(topic=ORDERS)] * 5)
    assert "5 offsets" in see("table", source="shop", table="orders").text


@pytest.mark.usefixtures("published")
def test_a_broker_that_does_not_answer_keeps_nobody_waiting(see, monkeypatch):
    monkeypatch.setattr(chapters, "KAFKA_PATIENCE", 0.0)
    found = see("table", source="shop", table="orders")
    assert "Kafka did not answer within 0 s" in found.text
    assert "not known" in found.text


@pytest.mark.usefixtures("source")
def test_dags_that_are_paused_are_named(see):
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(DagBag(airflow_stage.PROJECT / "dags"), "dags-folder", None)
    with create_session() as session:
        for name in ("watch__freshness", "land__shop"):
            session.get(DagModel, name).is_paused = True
        session.get(DagModel, "compact__shop").is_paused = False
    text = see("").text
    assert "DAG watch__freshness is paused" in text
    assert "DAG land__shop is paused" in text
    assert "compact__shop is paused" not in text


@pytest.mark.usefixtures("known_dags")
def test_a_source_that_lacks_its_pool_and_its_connections_says_so_at_once(
    see, source_path, monkeypatch
):
    source_path.write_text(
        source_path.read_text()
        + '[spark]\nconnection = "spark_shop"\n[registry]\nconnection = "shop_schemas"\n'
    )
    with create_session() as session:
        session.execute(delete(Pool).where(Pool.pool == "strandline__shop"))
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA_SHOP", raising=False)
    for view in (see(""), see("source", source="shop")):
        assert "there is no pool 'strandline__shop'" in view.text
        assert "no Airflow connection 'kafka_shop' of type kafka: add it (Admin" in view.text
        assert "no Airflow connection 'spark_shop' of type spark" in view.text
        assert "no Airflow connection 'shop_schemas' of type http" in view.text
    assert "1 not set up" in see("").text


@pytest.mark.usefixtures("source_path")
def test_whoever_may_not_see_pools_is_told_nothing_of_them(see, monkeypatch):
    with create_session() as session:
        session.execute(delete(Pool).where(Pool.pool == "strandline__shop"))
    assert "there is no pool" in see("").text
    monkeypatch.setattr(SimpleAuthManager, "is_authorized_pool", lambda *_, **__: False)
    found = see("")
    assert (found.status, "there is no pool" in found.text) == (200, False)


def test_a_source_with_an_operator_of_its_own_lacks_no_connection_of_spark(see, source_path):
    operator = '[spark]\noperator = "airflow.providers.apache.livy.operators.livy.LivyOperator"\n'
    arguments = 'arguments = { file = "compact.py", args = ["{{ manifest }}"] }\n'
    source_path.write_text(source_path.read_text() + operator + arguments)
    assert "no Airflow connection 'spark_" not in see("source", source="shop").text


@pytest.mark.usefixtures("known_dags")
def test_the_first_run_makes_the_pool_of_its_source(see):
    with create_session() as session:
        session.execute(delete(Pool).where(Pool.pool == "strandline__shop"))
    run_id = trigger_dag("compact__shop", triggered_by=DagRunTriggeredByType.TEST).run_id
    with create_session() as session:  # as the scheduler starts a run
        run = session.scalars(select(DagRun).where(DagRun.run_id == run_id)).one()
        run.set_state(DagRunState.RUNNING)
        run.notify_dagrun_state_changed(msg="started")
    pool = Pool.get_pool("strandline__shop")
    assert (pool.slots, pool.include_deferred) == (1, True)
    assert "there is no pool" not in see("").text


def test_a_schedule_that_airflow_refuses_is_told_with_its_source(see, source_path):
    source_path.write_text(source_path.read_text() + '[schedule]\nland = "every hour"\n')
    assert "[schedule]: 'land' must be a cron expression" in see("").text


@pytest.mark.usefixtures("known_dags")
def test_a_landing_that_failed_last_is_told_and_leads_to_its_run(see):
    run_id = trigger_dag("land__shop", triggered_by=DagRunTriggeredByType.TEST).run_id
    with create_session() as session:
        run = session.scalars(select(DagRun).where(DagRun.run_id == run_id)).one()
        run.set_state(DagRunState.FAILED)
    found = see("")
    assert "The last run of land__shop has failed" in found.text
    assert "Sources: 1 failing" in found.text
    assert f"../dags/land__shop/runs/{quote(run_id)}" in found.links


@pytest.mark.usefixtures("published")
def test_the_first_line_counts_what_is_wrong_and_a_search_finds_tables(see, arrive, publish):
    arrive("shop.items", 3)
    publish(items={"error": "column x: text is no int"})
    arrive("shop.refunds", 3)
    assert "Tables: 1 held, 1 waiting, 1 fresh" in see("").text
    found = see("", q="REFUND")
    assert "Tables: 1 held, 1 waiting, 1 fresh" in found.text
    tables = [link for link in found.links if link.startswith("table?")]
    assert tables == ["table?source=shop&table=refunds"]
    assert 'No table that you may see has "nowhere"' in see("", q="nowhere").text


@pytest.mark.usefixtures("published")
def test_sources_in_trouble_stand_first(see, source_path):
    (source_path.parent / "archive.toml").write_text(
        source_path.read_text() + '[schedule]\nland = "0 5 31 2 *"\n'
    )
    (source_path.parent / "zoo.toml").write_text(
        source_path.read_text() + '[schedule]\nland = "never"\n'
    )
    links = [link for link in see("").links if link.startswith("source?")]
    assert links.index("source?source=zoo") < 3


@pytest.mark.usefixtures("published")
def test_what_the_watch_told_of_a_source_is_shown_until_it_is_over(see, source, monkeypatch):
    watch = Watcher(source)
    told = "not over: Kafka does not answer, since 2026-11-20 12:00:00 UTC"
    with monkeypatch.context() as without_kafka:
        without_kafka.delenv("AIRFLOW_CONN_KAFKA_SHOP")
        watch.look(NOON)
        assert told not in see("").text
        watch.look(NOON + timedelta(hours=3))
        assert told in see("").text
        assert told in see("source", source="shop").text
    watch.look(NOON + timedelta(hours=4))
    assert told not in see("").text


@pytest.mark.usefixtures("published")
def test_quarantine_comes_in_pages_by_reason(see, quarantine):
    quarantine("orders", *["not_json"] * 70, "no_key", value=EVIL.encode())
    first = see("quarantine", source="shop", table="orders", reason="not_json")
    assert "page 1 of 2 older" in first.text
    assert first.text.count(EVIL) == 50
    (older,) = [link for link in first.links if "page=2" in link]
    assert "[0] 69 " in see(older).text
    assert "[0] 69 " in see(older.replace("page=2", "page=9")).text
    assert "page 2 of 2" in see(older.replace("page=2", "page=9")).text
    unknown = see("quarantine", source="shop", table="orders", reason="not_jsn").text
    assert "Nothing is refused as not_jsn; the reasons are no_key, not_json." in unknown
    assert "page 2 of 2" in see("quarantine", source="shop", table="orders", page=7).text


@pytest.mark.usefixtures("published")
def test_the_timeline_of_a_key_goes_on_where_its_row_moved(see):
    found = see("key", source="shop", table="orders", key="1")
    assert found.status == 200
    assert 'drawn with {"id":9}' in found.text
    assert found.elements.count("rect") >= 3
    (record,) = {link for link in found.links if "offset=3" in link}
    assert see(record).text.count("shop.orders[0] 3") == 1


def test_a_key_from_before_its_column_was_widened_is_found_as_it_is_shown(
    see, lake, arrive, publish
):
    keys = ['{"id":1}', '{"id":"1.50"}']
    rows = [{**version(n, keys[0]).cells(), "_key": key} for n, key in enumerate(keys)]
    write_deltalake(lake.history("orders"), pa.Table.from_pylist(rows, HISTORY))
    arrive(ORDERS, 1)
    publish(orders={"history_version": 0})
    for key in keys:
        assert see("key", source="shop", table="orders", key=key).status == 200


def test_versions_are_told_by_what_they_changed_in_words_and_in_sqls_spelling(
    see, lake, arrive, publish
):
    schema = HISTORY.append(pa.field("paid", pa.bool_())).append(pa.field("bio", pa.string()))
    key, long = '{"id":1}', "z" * 5_000
    versions = [
        version(0, key, ended=1, closed_by=ClosedBy.UPDATE).cells() | {"paid": False, "_op": "r"},
        version(1, key).cells() | {"paid": True, "_op": "u"},
    ]
    rows = [{**cells, "_key": key, "_unavailable": ["bio"]} for cells in versions]
    rows[1]["name"] = long
    write_deltalake(lake.history("orders"), pa.Table.from_pylist(rows, schema))
    arrive(ORDERS, 1)
    publish(orders={"history_version": 0})
    text = see("key", source="shop", table="orders", key="1").text
    assert "paid false → true" in text
    assert "read by a snapshot updated name Ada paid false bio not sent whole row" in text
    assert long in text
    assert "False" not in text
    assert "bio NULL" not in text


@pytest.mark.usefixtures("published")
def test_the_keys_that_changed_last_are_told_with_what_happened_to_them(see):
    found = see("changes", source="shop", table="orders")
    assert "2026-11-20 12:00:04 1 row table truncated" in found.text
    assert '2026-11-20 12:00:03 {"id":9} moved here from {"id":1}' in found.text
    assert '{"id":1} moved to {"id":9}' in found.text
    assert any("key?source=shop" in link for link in found.links)


@pytest.mark.usefixtures("published")
def test_a_move_is_told_with_both_of_its_keys_and_a_truncate_with_all_that_it_ended(
    see, history, arrive, publish
):
    moved = see("change", source="shop", table="orders", at="0003").text
    assert "2026-11-20 12:00:03 UTC: 1 version ended, 1 version began" in moved
    assert 'ended: moved to {"id":9}' in moved
    assert 'began: moved here from {"id":1}' in moved
    keys = [f'{{"id":{number}}}' for number in range(4)]
    history(*({"key": key, "ended": 9, "closed_by": ClosedBy.TRUNCATE} for key in keys))
    arrive(ORDERS, 1)
    publish(orders={"history_version": 1})
    truncated = see("changes", source="shop", table="orders")
    assert "2026-11-20 12:00:09 4 rows table truncated" in truncated.text
    (link,) = [link for link in truncated.links if link.startswith("change?")]
    assert "4 versions ended, 0 versions began" in see(link).text
    assert see(link).text.count("ended: table truncated") == 4
    unknown = see("change", source="shop", table="orders", at="ffff' OR ''='")
    assert (unknown.status, "nothing of orders began or ended at" in unknown.text) == (400, True)


@pytest.mark.usefixtures("published")
def test_a_key_leads_to_what_its_move_did_to_others(see):
    links = see("key", source="shop", table="orders", key="1").links
    assert any(link.startswith("change?") and link.endswith("at=0003") for link in links)


@pytest.mark.usefixtures("published")
def test_a_table_is_shown_as_it_stood_at_a_moment(see):
    def text(at):
        return see("rows", source="shop", table="orders", at=at).text

    assert 'All rows that stood then: 1. key row {"id":1} id 1; name Ada' in text(
        "2026-11-20T12:00:00.5Z"
    )
    assert "All rows that stood then: 0. key row No row stood then." in text("2020-01-01")
    assert '{"id":9}' in see("rows", source="shop", table="orders").text
    assert "'at' must be a moment such as" in text("yesterday")


@pytest.mark.usefixtures("published")
def test_a_table_says_where_its_history_lies_and_how_it_is_read(see, lake):
    text = see("table", source="shop", table="orders").text
    path = lake.history("orders")
    assert f"delta.`{path}` VERSION AS OF 0 WHERE _is_current" in text
    assert "In the catalog" not in text


@pytest.mark.usefixtures("published")
def test_a_table_says_what_it_is_called_in_the_catalog(see, source_path):
    source_path.write_text(source_path.read_text() + '[catalog]\ndatabase = "web"\n')
    text = see("table", source="shop", table="orders").text
    assert "In the catalog it is web.orders" in text


@pytest.mark.usefixtures("published")
def test_a_truncate_is_a_line_across(see):
    assert "TRUNCATE" in see("key", source="shop", table="orders", key='{"id": "2"}').text


@pytest.mark.usefixtures("published")
def test_values_cannot_become_markup(see, quarantine):
    quarantine("orders", EVIL, value=EVIL.encode())
    for view, query in {
        "key": {"key": "1"}, "quarantine": {}, "table": {}, "record": {"topic": EVIL}
    }.items():  # fmt: skip
        found = see(
            view, **{"source": "shop", "table": "orders", "partition": 0, "offset": 0, **query}
        )
        assert found.elements.count("script") == 1  # its own


@pytest.mark.usefixtures("published")
def test_every_link_is_relative_and_leads_somewhere(see, quarantine):
    quarantine("orders", "not_json")
    seen, left = set(), ["", "key?source=shop&table=orders&key=1"]
    while left:
        view = left.pop()
        seen.add(view)
        found = see(view)
        assert found.status == 200, view
        for link in set(found.links) - {"key", "rows"}:  # where the form leads
            assert not link.startswith(("/", "http")), link
            if not link.startswith("../dags/") and link.removeprefix("./") not in seen:
                left.append(link.removeprefix("./"))
    views = {view.partition("?")[0] for view in seen}
    assert views == {"", "source", "table", "quarantine", "key", "record", "changes", "change"}


# ---------------------------------------------------- bad input


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize(
    ("view", "query", "status", "said"),
    [
        ("source", {"source": "shoe"}, 404, "no source 'shoe'; there are: shop"),
        ("source", {}, 400, "'source': Field required"),
        ("table", {"table": "order"}, 404, "no table 'order'; the"),
        ("quarantine", {"table": "orders", "page": "-1"}, 400, "'page': Input should be greater"),
        ("key", {"table": "orders"}, 404, 'Write a key of orders, for example {"id":'),
        ("key", {"table": "orders", "key": "77"}, 400, 'never seen a key {"id":77}; '),
        ("key", {"table": "orders", "key": '{"id": 1'}, 400, "'id' of the key must be a number"),
        ("key", {"table": "orders", "key": '{"no": 1}'}, 400, "the key is made of id; write it as"),
        ("key", {"table": "orders", "key": "' OR ''='"}, 400, 'write the key as {"id":'),
        ("key", {"table": "orders", "key": "x\x00"}, 400, 'write the key as {"id":'),
        ("record", {"topic": ORDERS, "partition": 0, "offset": 99}, 404, "may be a hole"),
        (
            "record",
            {"topic": "reconciliation", "partition": 0, "offset": 7},
            404,
            "run 7 of reconc",
        ),
        ("record", {"topic": ORDERS, "partition": "a", "offset": 1}, 400, "valid integer"),
        ("record", {"topic": ORDERS, "partition": 0, "offset": 10**30}, 400, "'offset'"),
        ("nowhere", {}, 404, "no such view"),
    ],
)
def test_bad_input_is_answered_with_what_to_do(see, view, query, status, said):
    if view not in {"source", "nowhere"}:
        query = {"source": "shop", **query}
    found = see(view, **query)
    assert (found.status, said in found.text) == (status, True), found.text
    assert "Traceback" not in found.text


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("about", [{"source": "shop", "table": "order"}, {"source": "shoe"}])
def test_a_message_leads_to_no_table_that_is_not_there(see, about):
    found = see("table", **{"table": "orders", **about})
    assert found.status == 404
    assert not any("table?" in link for link in found.links)


@pytest.mark.usefixtures("published")
def test_a_message_leads_back_to_the_table_that_was_asked_about(see):
    found = see("key", source="shop", table="orders", key="77")
    assert "Strandline shop orders orders topic shop.orders" in see(found.links[1]).text


def test_a_table_without_a_published_history_says_what_to_trigger(see, arrive):
    arrive(ORDERS, 1)
    found = see("key", source="shop", table="orders", key="1")
    assert "no published history yet: trigger compact__shop" in found.text


@pytest.mark.usefixtures("published")
def test_a_history_that_only_spark_can_read_says_so(see, lake, widened):
    widened(lake.history("orders"))
    assert "read it with Spark" in see("key", source="shop", table="orders", key="1").text


@pytest.mark.usefixtures("published")
def test_a_key_of_which_everything_is_in_quarantine_says_so(see, quarantine):
    quarantine("orders", "not_json")
    assert "quarantine" in see("key", source="shop", table="orders", key="1").text


@pytest.mark.usefixtures("source")
def test_a_lake_that_cannot_be_read_is_told_with_its_place(see, tmp_path):
    (tmp_path / "lake").write_text("a file where the lake should be")
    found = see("")
    assert found.status == 200
    assert f"the lake cannot be used at {tmp_path}/lake" in found.text


def test_airflow_shows_it_in_its_navigation(server):
    found = client(server, "ann", "a", root="/").get("api/v2/plugins").json()
    (plugin,) = [each for each in found["plugins"] if each["name"] == "strandline"]
    (view,) = plugin["external_views"]
    assert (view["href"], view["destination"]) == ("strandline/", "nav")
