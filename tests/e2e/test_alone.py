"""A source whose engine is `alone`: its DAGs, from Kafka to the history, without Spark or Java."""

import pytest
from shop_stage import opened
from strandline_airflow import reconcile

from examples.embedded_kafka import EmbeddedKafka
from strandline.errors import SpecError


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    with (
        pytest.MonkeyPatch.context() as without,
        EmbeddedKafka() as broker,
        opened(folder, broker, None, 'engine = "alone"\n') as shop,
    ):
        without.delenv("JAVA_HOME", raising=False)
        without.setenv("PATH", "/nowhere")
        stream = shop.stream
        stream.change("c", 1, 10, name="ada")
        stream.add(b"{}", b"no json")
        shop.land()
        shop.first = shop.trigger("compact")
        stream.change("u", 1, 20, name="bob", partition=1)
        shop.land()
        shop.second = shop.trigger("compact")
        yield shop


def test_compactions_apply_what_was_landed_and_publish_it(shop):
    assert set(shop.first.values()) == set(shop.second.values()) == {"success"}
    assert shop.history() == ["1: ada|update", "1: bob"]
    row = shop.published()
    assert (row.counts.history_rows, row.history_version) == (2, 1)


def test_with_nothing_new_a_compaction_is_skipped(shop):
    assert shop.trigger("compact")["plan"] == "skipped"


@pytest.mark.parametrize("what", ["requeue", "replay", "maintain"])
def test_what_is_ordered_is_done(shop, what):
    given = {"swap": True} if what == "replay" else {}
    assert set(shop.trigger(what, dry_run=False, **given).values()) == {"success"}
    assert shop.history() == ["1: ada|update", "1: bob"]


def test_an_order_that_takes_spark_is_refused_before_a_run_is_made(shop, tmp_path):
    last = shop.publications.last_number()
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "name": "bob"}\n')
    given = {"table": "public.item", "snapshot": str(rows), "as_of": "2026-11-21T00:00:00+00:00"}
    with pytest.raises(SpecError, match="'reconcile' is done by Spark, and shop goes without it"):
        shop.order(reconcile.FORM, dry_run=False, **given)
    stream = shop.stream
    stream.change("u", 1, 30, name="eve")
    shop.land()
    assert set(shop.trigger("compact").values()) == {"success"}
    assert shop.publications.last_number() == last + 1
