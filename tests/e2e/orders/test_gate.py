"""A table that is not as expected, from Kafka to its release; its histories are real ones."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from stages.shop_stage import opened
from strandline_airflow.forms import release
from strandline_airflow.runs import alone_run, compact_run, order_run

from examples.embedded_kafka import EmbeddedKafka
from strandline.alone.stores import nulls

pytestmark = pytest.mark.heavy
EXPECTED = """
[[table]]
topic = "shop.public.item"
expectations = { max_vanished = 0.5, max_nulls = { name = 0.5 } }
"""
GIVEN = {"tables": ["public.item"], "why": "the shop has closed", "dry_run": False}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    with EmbeddedKafka() as broker, opened(folder, broker, None, 'engine = "alone"\n') as shop:
        shop.says(EXPECTED)
        for key in range(1, 5):
            shop.stream.change("c", key, key * 10, name="ada")
        compacted(shop)
        for key in (1, 2, 3):
            shop.stream.change("d", key, key * 100, name="ada")
        shop.land()
        shop.states = shop.trigger("compact")
        shop.withheld = shop.published()
        shop.released = shop.trigger("release", **GIVEN)
        yield shop


def compacted(shop):
    """Lands what is new and compacts it as the DAG does; the row of the table."""
    shop.land()
    path = compact_run.plan(shop.source, datetime.now(UTC))
    alone_run.work_off(path)
    compact_run.publish(path)
    return shop.published()


def left_open(shop):
    """The path of the manifest of a release that is planned, and no more."""
    order = release.order(shop.source, GIVEN, datetime.now(UTC))
    order = replace(order, read=lambda: {"by": "ann"})  # the task would ask Airflow
    return order_run.plan(shop.source, order, datetime.now(UTC), dry=False)


def test_a_compaction_has_failed_whose_table_is_withheld_though_its_history_has_gone_on(shop):
    assert shop.states == {
        "plan": "success", "compact": "success", "publish": "success", "report": "failed"
    }  # fmt: skip
    assert "the current rows are 75% fewer (4 are published, 1 are left)" in shop.withheld.held
    at_the_cut = shop.history(shop.withheld.history_version)
    assert at_the_cut == ["1: ada", "2: ada", "3: ada", "4: ada"]
    assert shop.history() == ["1: ada|delete", "2: ada|delete", "3: ada|delete", "4: ada"]


def test_a_release_publishes_it_without_spark_and_says_who_and_why(shop):
    assert set(shop.released.values()) == {"success"}
    (row,) = (row for row in shop.publications.of("public.item", 99) if row.number == 3)
    assert (row.released_by, row.released_why) == ("dag_test", "the shop has closed")
    assert (row.held, row.history_version) == (None, shop.withheld.history_version + 1)


def test_nulls_are_counted_in_the_history_that_a_run_has_made_until_they_are_as_few_as_may_be(shop):
    shop.stream.change("c", 7, 900, name=None)
    shop.stream.change("c", 8, 901, name=None)
    said = "max_nulls of column 'name' is 50%, and 2 of 3 current rows (66.67%) are NULL there"
    assert said in compacted(shop).held
    shop.stream.change("u", 8, 902, name="bob")
    assert compacted(shop).held is None


def test_a_release_that_was_left_open_is_finished_by_the_next_compaction(shop):
    for key in (7, 8):
        shop.stream.change("d", key, 1000 + key)
    assert "66.67% fewer" in compacted(shop).held
    left_open(shop)
    row = compacted(shop)
    assert (row.released_by, row.held, row.counts.current_rows) == ("ann", None, 1)


def test_a_history_that_spark_has_spread_is_asked_and_released_whatever_its_columns_are_called(
    tmp_path, spark, monkeypatch
):
    monkeypatch.setenv("STRANDLINE_WAY", "spread")
    with EmbeddedKafka() as broker, opened(tmp_path, broker, spark) as shop:
        shop.says('[[table]]\ntopic = "shop.public.item"\nrename = { name = "a name" }\n')
        shop.says('expectations.max_nulls = { "a name" = 0.3 }\n')
        for key in range(1, 9):
            shop.stream.change("c", key, key * 10, name=None if key < 4 else "ada")
        shop.arrive()
        assert "3 of 8 current rows (37.5%) are NULL" in shop.published().held
        shop.work_off(left_open(shop))
        assert (shop.published().released_by, shop.published().history_version) == ("ann", 0)
        shop.stream.change("u", 1, 200, name="bob")
        shop.stream.change("d", 3, 202)
        shop.arrive()
        uri = shop.lake.history("public.item")
        read = [nulls.counted(uri, version, {"a name": 0}).counts for version in (0, 1)]
        for file in Path(uri).rglob("*.parquet"):
            file.unlink()
        by_statistics = nulls.counted(uri, 0, {"a name": 3}).counts
    assert (read, by_statistics) == ([{"a name": 3}, {"a name": 1}], {"a name": 3})
