"""How a source stands, from a lake that the real landing and publishing have written."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from strandline_airflow.landing import land_run
from strandline_airflow.monitoring import catalogue

from strandline.alone.stores import landing, records, tables
from strandline.changes.record import Coordinates, Record
from strandline.law.continuation import Entry
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.segment import Gap
from strandline.sources import source as source_file

ORDERS, ITEMS = "shop.orders", "shop.items"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def stand(source, **asked):
    return {each.table: each for each in catalogue.standing(source, **asked).tables}


def test_a_source_that_never_ran_has_no_tables_and_no_runs(source):
    found = catalogue.standing(source)
    assert (found.tables, found.runs, found.landed_at) == ((), (), None)


def test_what_is_landed_and_not_published_waits_since_it_landed(source, arrive, zone):
    arrive(ORDERS, 3)
    first = zone.landed_at()
    arrive(ITEMS, 1)
    arrive(ORDERS, 2)
    orders = stand(source)["orders"]
    assert (orders.landed, orders.since, orders.run) == (5, first, 0)


def test_what_tidies_the_landing_table_has_landed_nothing(source, arrive, zone):
    arrive(ORDERS, 3)
    landed = catalogue.standing(source).landed_at
    stored = tables.opened(SourceLake(source.lake, source.name).landing)
    stored.delete('"offset" = 0')
    stored.optimize.compact()
    assert stored.history(1)[0]["operation"] != "WRITE"
    assert zone.landed_at() == catalogue.standing(source).landed_at == landed


def test_a_run_took_as_long_as_the_clock_says_from_its_plan_to_its_publication(
    source, arrive, manifests, publications
):
    arrive(ORDERS, 3)
    began, published = NOON + 20 * MINUTE, NOON + 23 * MINUTE
    made = manifests.next(source, NOON.isoformat(), began.isoformat())
    done = TableReceipt("orders", ORDERS, Counts(landed=3, changes=3), seconds=1.5)
    publications.publish(made, Receipt("shop", 1, (done,)), published.isoformat())
    standing = catalogue.standing(source)
    (run,) = standing.runs
    assert (run.began_at, run.published_at, run.seconds) == (began, published, 180.0)
    (orders,) = standing.tables
    assert (orders.began_at, orders.published_at) == (began, published)


def test_runs_that_an_older_release_has_published_are_read_without_the_times_of_the_clock(
    source, lake, arrive, publish
):
    arrive(ORDERS, 3)
    publish()
    rows = DeltaTable(lake.publications).to_pyarrow_table()
    younger = ["began_at", "published_at", "withheld", "released_by", "released_why"]
    transactions = [Transaction("publication", 1)]
    write_deltalake(
        lake.publications, rows.drop_columns(younger), mode="overwrite",
        schema_mode="overwrite", commit_properties=CommitProperties(app_transactions=transactions),
    )  # fmt: skip
    standing = catalogue.standing(source)
    assert [(run.began_at, run.published_at, run.seconds) for run in standing.runs] == [
        (NOON, None, 1.5)
    ]
    assert standing.tables[0].began_at == NOON
    arrive(ORDERS, 1)
    publish(NOON + HOUR)
    assert [run.number for run in catalogue.standing(source).runs] == [2, 1]


def test_of_what_is_published_nothing_waits(source, arrive, publish):
    arrive(ORDERS, 3)
    publish()
    orders = stand(source)["orders"]
    assert (orders.landed, orders.since) == (0, None)
    assert (orders.run, orders.began_at) == (1, NOON)
    assert (orders.history_rows, orders.current_rows) == (9, 4)


def test_what_landed_after_the_run_waits_since_then(source, arrive, publish, zone):
    arrive(ORDERS, 3)
    publish()
    arrive(ITEMS, 1)
    arrive(ORDERS, 2)
    second = zone.landed_at()
    arrive(ORDERS, 4)
    orders = stand(source)["orders"]
    assert (orders.landed, orders.since) == (6, second)


def test_a_table_that_failed_is_held_since_its_first_failed_run(source, arrive, publish, zone):
    arrive(ORDERS, 3)
    publish()
    arrive(ORDERS, 2)
    landed_at = zone.landed_at()
    publish(NOON + HOUR, orders={"error": "column x: no int"})
    arrive(ITEMS, 1)
    publish(NOON + 2 * HOUR, orders={"error": "column x: still no int"})
    orders = stand(source)["orders"]
    assert (orders.held, orders.held_since) == ("column x: still no int", NOON + HOUR)
    assert (orders.landed, orders.since) == (2, landed_at)
    assert stand(source)["items"].held is None


def test_an_order_leaves_a_held_table_held_and_what_waits_waiting(
    source, arrive, publish, order, zone
):
    arrive(ORDERS, 3)
    publish()
    arrive(ORDERS, 2)
    landed_at = zone.landed_at()
    publish(NOON + HOUR, orders={"error": "column x: no int"})
    order(Work.MAINTAIN, NOON + 2 * HOUR)
    orders = stand(source)["orders"]
    assert (orders.held, orders.held_since) == ("column x: no int", NOON + HOUR)
    assert (orders.landed, orders.since) == (2, landed_at)
    assert (orders.run, orders.began_at) == (2, NOON + HOUR)


def test_what_landed_before_an_order_waits_since_it_landed(source, arrive, publish, order, zone):
    arrive(ORDERS, 3)
    publish()
    arrive(ORDERS, 2)
    landed_at = zone.landed_at()
    order(Work.MAINTAIN, NOON + HOUR)
    arrive(ORDERS, 4)
    orders = stand(source)["orders"]
    assert (orders.landed, orders.since) == (6, landed_at)
    assert (orders.run, orders.began_at) == (1, NOON)


def test_a_table_that_an_order_failed_on_is_not_held(source, arrive, publish, order):
    arrive(ORDERS, 3)
    publish()
    order(Work.RECONCILE, NOON + HOUR, orders={"error": "no such path: /x.csv"})
    found = catalogue.standing(source)
    assert [table.held for table in found.tables] == [None]
    assert [(run.work, run.failed) for run in found.runs] == [
        (Work.RECONCILE, 1), (Work.COMPACT, 0)
    ]  # fmt: skip
    assert [row.error for row in catalogue.runs_of(source, "orders")] == [
        "no such path: /x.csv", None
    ]  # fmt: skip


def test_after_an_undo_what_is_to_be_applied_again_waits_since_it_landed(
    source, arrive, publish, order, zone, monkeypatch
):
    arrive(ORDERS, 3)
    publish()
    swap = order(Work.REPLAY, NOON + HOUR, orders={"changed": True})
    arrive(ORDERS, 2)
    landed_at = zone.landed_at()
    arrive(ITEMS, 1)
    publish(NOON + 2 * HOUR)
    arrive(ITEMS, 1)
    publish(NOON + 3 * HOUR)
    order(Work.UNDO, NOON + 4 * HOUR, swap.tables, orders={"changed": True})
    monkeypatch.setattr(catalogue, "_COMMITS", 1)  # the log is read from the right place on
    found = stand(source)
    assert (found["orders"].landed, found["orders"].since) == (2, landed_at)
    assert (found["items"].landed, found["items"].since) == (0, None)


def test_a_table_that_is_held_after_an_undo_is_so_since_the_compaction_that_failed(
    source, arrive, publish, order
):
    arrive(ORDERS, 3)
    publish()
    swap = order(Work.REPLAY, NOON + HOUR, orders={"changed": True})
    arrive(ORDERS, 2)
    publish(NOON + 2 * HOUR)
    order(Work.UNDO, NOON + 3 * HOUR, swap.tables, orders={"changed": True})
    publish(NOON + 4 * HOUR, orders={"error": "column x: no int"})
    order(Work.MAINTAIN, NOON + 5 * HOUR)
    orders = stand(source)["orders"]
    assert (orders.held, orders.held_since) == ("column x: no int", NOON + 4 * HOUR)


def test_what_waits_of_a_table_is_dated_by_it_alone_beside_a_topic_that_is_new(
    source, arrive, publish, zone, monkeypatch
):
    for hours in range(3):
        arrive(ORDERS, 1)
        publish(NOON + hours * HOUR)
    arrive(ITEMS, 1)
    items_at = zone.landed_at()
    arrive(ORDERS, 1)
    monkeypatch.setattr(catalogue, "_NEAR", 1)
    monkeypatch.setattr(catalogue, "_COMMITS", 1)
    found = stand(source)
    assert (found["items"].since, found["orders"].since) == (items_at, zone.landed_at())


def test_a_table_that_was_never_applied_waits_since_it_landed_however_long_that_is(
    source, arrive, publish, zone, monkeypatch
):
    for hours in range(2):
        arrive(ORDERS, 1)
        publish(NOON + hours * HOUR)
    arrive(ITEMS, 1)
    items_at = zone.landed_at()
    for hours in range(2, 5):
        arrive(ORDERS, 1)
        publish(NOON + hours * HOUR, items={"error": "no"})
    monkeypatch.setattr(catalogue, "_NEAR", 1)
    monkeypatch.setattr(catalogue, "_COMMITS", 1)
    items = stand(source)["items"]
    assert (items.since, items.held_since) == (items_at, NOON + 2 * HOUR)


def test_a_table_that_is_held_for_more_runs_than_are_looked_back_on_is_dated_truly(
    source, arrive, publish, zone, monkeypatch
):
    monkeypatch.setattr(catalogue, "RUNS", 2)
    monkeypatch.setattr(catalogue, "_COMMITS", 1)
    arrive(ITEMS, 1)
    publish()
    arrive(ITEMS, 1)
    items_at = zone.landed_at()
    for hours in range(1, 5):
        arrive(ORDERS, 1)
        publish(NOON + hours * HOUR, items={"error": "no"})
    arrive(ORDERS, 1)
    found = stand(source)
    assert (found["items"].since, found["items"].held_since) == (items_at, NOON + HOUR)
    assert found["orders"].since == zone.landed_at()


def test_what_began_to_wait_long_after_the_last_run_is_found_from_the_newest_commit(
    source, arrive, publish, zone, monkeypatch
):
    arrive(ORDERS, 1)
    publish()
    for _ in range(3):
        arrive(ITEMS, 1)
    arrive(ORDERS, 1)
    orders_at = zone.landed_at()
    arrive(ITEMS, 1)
    monkeypatch.setattr(catalogue, "_NEAR", 1)
    monkeypatch.setattr(catalogue, "_COMMITS", 3)
    assert stand(source)["orders"].since == orders_at


def test_where_the_log_has_forgotten_when_it_landed_it_waits_at_least_since_the_oldest_commit(
    source, arrive, lake, zone
):
    arrive(ORDERS, 1)
    arrive(ITEMS, 1)
    items_at = zone.landed_at()
    arrive(ITEMS, 1)
    tables.opened(lake.landing).create_checkpoint()
    for version in range(2):
        (Path(lake.landing) / f"_delta_log/{version:020d}.json").unlink()
    catalogue._commit.cache_clear()  # noqa: SLF001 - as in a process that looks for the first time
    found = stand(source)
    assert (found["orders"].since, found["items"].since) == (items_at, items_at)


def test_runs_are_told_with_what_their_tables_add_up_to(source, arrive, publish):
    arrive(ORDERS, 3)
    arrive(ITEMS, 2)
    publish(items={"seconds": 7.0})
    arrive(ORDERS, 1)
    publish(NOON + HOUR, orders={"error": "no"})
    second, first = catalogue.standing(source).runs
    assert (first.number, first.landed, first.seconds, first.failed) == (1, 5, 7.0, 0)
    assert (second.number, second.landed, second.failed) == (2, 0, 1)


def test_records_in_quarantine_are_counted_by_table_and_reason(source, arrive, quarantine):
    arrive(ORDERS, 1)
    quarantine("orders", "not_json", "not_json", "no_key")
    quarantine("items", "no_key")
    assert stand(source)["orders"].quarantined == {"no_key": 1, "not_json": 2}
    quarantine("orders", "no_key")
    assert stand(source)["orders"].in_quarantine == 4


def test_a_gap_is_told_until_a_snapshot_that_began_after_it_is_complete(source, arrive, zone, lake):
    topic_id = arrive(ORDERS, 1)
    gap = Gap(ORDERS, topic_id, 0, 1, 9)
    zone.record_gaps([gap], NOON)
    assert [loss.gap for loss in stand(source)["orders"].losses] == [gap]
    notices(lake, ("STARTED", NOON - HOUR), ("COMPLETED", NOON + HOUR))
    assert stand(source)["orders"].losses
    notices(lake, ("STARTED", NOON + 2 * HOUR), ("COMPLETED", NOON + 3 * HOUR))
    assert stand(source)["orders"].losses == ()


def notices(lake, *told, connector=None):
    """Puts notices on record, as the engine does: what, when, and of which table."""
    rows = []
    for number, (kind, at, *table) in enumerate(told):
        said = {"connector_name": connector, "scanned_collection": table[0] if table else None}
        notice = {
            "aggregate_type": "Initial Snapshot", "type": kind, "id": "1",
            "additional_data": {**said, "status": "SUCCEEDED"}, "timestamp": millis(at),
        }  # fmt: skip
        place = Coordinates("shop.notifications", 0, number)
        rows.append(landing.cells(Record(place, 0, None, json.dumps(notice).encode())))
    columns = pa.schema([of for of in landing.RECORD if of[0] != "key"])
    write_deltalake(lake.control, pa.Table.from_pylist(rows, columns), mode="append")


def millis(at):
    return int(at.timestamp() * 1000)


@pytest.fixture
def lost(arrive, zone):
    """Orders and items, of which each has lost a record at noon."""
    for topic in (ORDERS, ITEMS):
        zone.record_gaps([Gap(topic, arrive(topic, 1), 0, 1, 2)], NOON)


def still_lost(source):
    return sorted(name for name, table in stand(source).items() if table.losses)


@pytest.mark.usefixtures("lost")
def test_a_snapshot_ends_the_losses_of_the_tables_that_it_has_read(source, lake):
    begun, read, done = (NOON + hours * HOUR for hours in (1, 2, 3))
    notices(lake, ("STARTED", begun), ("TABLE_SCAN_COMPLETED", read, "items"), ("COMPLETED", done))
    assert still_lost(source) == ["orders"]


@pytest.mark.usefixtures("lost")
def test_the_snapshot_of_another_connector_ends_no_loss(source, lake):
    snapshot = ("STARTED", NOON + HOUR), ("COMPLETED", NOON + 2 * HOUR)
    notices(lake, *snapshot, connector="elsewhere")
    assert still_lost(source) == ["items", "orders"]
    notices(lake, *snapshot, connector="shop")
    assert still_lost(source) == []


@pytest.mark.usefixtures("lost")
def test_where_another_task_may_still_read_a_snapshot_ends_no_loss(source_path, lake):
    begun = [("STARTED", NOON + hours * HOUR) for hours in (1, 2)]
    notices(lake, *begun, ("COMPLETED", NOON + 3 * HOUR))
    text = source_path.read_text().replace('"postgresql"', '"sqlserver"')
    source_path.write_text(text)
    assert still_lost(source_file.load(source_path)) == ["items", "orders"]


@pytest.mark.usefixtures("lost")
def test_a_topic_that_is_not_called_like_its_table_is_known_by_the_reads_of_the_snapshot(
    source, lake
):
    begun, read, done = (NOON + hours * HOUR for hours in (1, 2, 3))
    scanned = ("TABLE_SCAN_COMPLETED", read, "public.orders_2026")
    notices(lake, ("STARTED", begun), scanned, ("COMPLETED", done), connector="shop")
    assert still_lost(source) == ["items", "orders"]
    rows = {
        "_emitted": [millis(read)] * 2, "_connector_name": ["shop"] * 2,
        "_scope": ["0000/shop//db.public.orders_2026", "0000/shop//db.public.orders_2025"],
    }  # fmt: skip
    write_deltalake(lake.changes("orders"), pa.table(rows))
    write_deltalake(lake.changes("items"), pa.table({**rows, "_connector_name": ["else"] * 2}))
    assert still_lost(source) == ["items"]


@pytest.mark.usefixtures("lost")
def test_what_a_snapshot_has_read_is_known_of_a_table_that_goes_alone_too(source, lake):
    begun, read, done = (NOON + hours * HOUR for hours in (1, 2, 3))
    scanned = ("TABLE_SCAN_COMPLETED", read, "public.orders_2026")
    notices(lake, ("STARTED", begun), scanned, ("COMPLETED", done), connector="shop")
    own = {
        "connector": "postgresql", "name": "shop", "db": "db", "schema": "public", "lsn": 1,
        "table": "orders_2026", "snapshot": "true", "ts_ms": millis(read),
    }  # fmt: skip
    value = {"op": "r", "after": {"id": 1}, "source": own, "ts_ms": millis(read)}
    for table, topic, at in (("orders", ORDERS, read), ("items", ITEMS, begun)):
        where = Coordinates(topic, 0, 0)
        early = {**value, "ts_ms": millis(at - 2 * HOUR)} if table == "items" else value
        kept = Record(where, millis(at), b'{"id": 1}', json.dumps(early).encode())
        records.put(lake.records(table), [(kept, Entry('{"id":1}'))], 1)
    assert still_lost(source) == ["items"]


@pytest.mark.usefixtures("lost")
def test_changes_that_cannot_be_read_leave_a_loss_and_nothing_else(source, lake, widened):
    """As where a column was widened, which delta-rs does not know."""
    begun, read, done = (NOON + hours * HOUR for hours in (1, 2, 3))
    scanned = ("TABLE_SCAN_COMPLETED", read, "public.orders_2026")
    notices(lake, ("STARTED", begun), scanned, ("COMPLETED", done), connector="shop")
    write_deltalake(lake.changes("orders"), pa.table({"_emitted": [millis(read)]}))
    widened(lake.changes("orders"))
    assert still_lost(source) == ["items", "orders"]


def test_a_gap_that_a_run_of_yesterday_finds_today_is_none_that_a_snapshot_in_between_heals(
    source, arrive, connected, record, lake
):
    arrive(ORDERS, 1)
    connected.replay([record(topic=ORDERS)] * 3)
    connected.delete_records(ORDERS, 0, 4)
    now = datetime.now(UTC)
    notices(lake, ("STARTED", now - 2 * HOUR), ("COMPLETED", now - HOUR))
    yesterday = now - 24 * HOUR
    (told,) = land_run.plan(source, yesterday).findings
    assert "lost offsets 1 to 3" in told
    assert land_run.plan(source, yesterday).findings == (told,)  # a retry says so again
    assert land_run.plan(source, now).findings == ()
    (loss,) = stand(source)["orders"].losses
    assert loss.seen_at >= now
    notices(lake, ("STARTED", now + HOUR), ("COMPLETED", now + 2 * HOUR))
    assert still_lost(source) == []


def test_the_halves_that_wait_are_told_since_the_first_of_them_came(source, arrive, publish):
    arrive(ORDERS, 1)
    publish(orders={"orphaned_moves": 2})
    arrive(ITEMS, 1)
    publish(NOON + HOUR)
    arrive(ORDERS, 1)
    publish(NOON + 2 * HOUR, orders={"orphaned_moves": 1})
    orders = stand(source)["orders"]
    assert (orders.orphans, orders.orphans_since) == (1, NOON)
    arrive(ORDERS, 1)
    publish(NOON + 3 * HOUR)
    orders = stand(source)["orders"]
    assert (orders.orphans, orders.orphans_since) == (0, None)


def test_kafka_tells_what_is_not_landed_yet_of_new_topics_too(
    source, arrive, connected, record, zone, lake
):
    arrive(ORDERS, 3)
    shutil.rmtree(lake.gaps)
    connected.replay([record(topic=ORDERS)] * 4)
    connected.create_topic(ITEMS)
    connected.replay([record(topic=ITEMS)] * 2)
    found = stand(source, ask_kafka=True)
    assert (found["orders"].unlanded, found["orders"].landed_to) == (4, 3)
    assert (found["items"].unlanded, found["items"].landed) == (2, 0)
    assert zone.version() == 1  # looking writes nothing
    assert not Path(lake.gaps).exists()


def test_what_is_lost_does_not_wait_to_be_landed(source, arrive, connected, record, zone):
    arrive(ORDERS, 3)
    connected.replay([record(topic=ORDERS)] * 4)
    connected.delete_records(ORDERS, 0, 7)
    assert stand(source, ask_kafka=True)["orders"].unlanded == 4
    land_run.plan(source, NOON)
    orders = stand(source, ask_kafka=True)["orders"]
    assert (orders.unlanded, orders.landed, orders.landed_to) == (0, 3, 3)
    connected.replay([record(topic=ORDERS)])
    assert stand(source, ask_kafka=True)["orders"].unlanded == 1
    assert zone.version() == 1


def test_where_kafka_cannot_be_asked_the_standing_says_why_and_the_rest(source, zone, monkeypatch):
    zone.ensure()
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA_SHOP", raising=False)
    found = catalogue.standing(source, ask_kafka=True)
    assert "no Airflow connection 'kafka_shop'" in found.silent


def test_a_table_has_the_tolerance_of_its_section(source_path, arrive):
    arrive(ORDERS, 1)
    arrive(ITEMS, 1)
    text = f'freshness = "3h"\n{source_path.read_text()}'
    source_path.write_text(f'{text}[[table]]\ntopic = "{ORDERS}"\nfreshness = "5m"\n')
    found = catalogue.standing(source_file.load(source_path)).tables
    assert [each.tolerance.freshness for each in found] == [3 * HOUR, HOUR / 12]


def test_the_runs_of_a_table_are_those_that_had_something_of_it(source, arrive, publish):
    arrive(ORDERS, 1)
    publish()
    arrive(ITEMS, 1)
    publish(NOON + HOUR)
    arrive(ORDERS, 2)
    publish(NOON + 2 * HOUR, orders={"error": "no"})
    found = catalogue.runs_of(source, "orders")
    assert [(row.number, row.error) for row in found] == [(3, "no"), (1, None)]
    assert catalogue.runs_of(source, "o'; DROP TABLE stored") == ()
