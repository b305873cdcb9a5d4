"""A source whose engine is `alone`: its DAGs, from Kafka to the history, without Spark or Java."""

import pytest
from stages.shop_stage import opened
from strandline_airflow.forms import reconcile

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


def test_a_reconciliation_lists_what_differs_and_corrects_it(shop, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "name": "eve"}\n')
    given = {"table": "public.item", "snapshot": str(path), "as_of": "2026-11-21T00:00:00+00:00"}
    states = shop.trigger("reconcile", dry_run=False, correct=True, **given)
    assert set(states.values()) == {"success"}
    assert shop.history() == ["1: ada|update", "1: bob|snapshot_correction", "1: eve"]
    found = [(row["kind"], row["columns"]) for row in shop.rows(shop.lake.differences)]
    assert found == [("different", ["name"])]
    shop.stream.change("u", 1, 30, name="joe")
    shop.land()
    assert set(shop.trigger("compact").values()) == {"success"}
    assert shop.history()[-2:] == ["1: eve|update", "1: joe"]


@pytest.mark.parametrize("snapshot", ["/rows/*.csv", "rows.csv"])
def test_a_snapshot_that_only_spark_can_look_for_is_refused_before_a_run_is_made(shop, snapshot):
    last = shop.publications.last_number()
    given = {"table": "public.item", "as_of": "2026-11-21T00:00:00+00:00"}
    with pytest.raises(SpecError, match="is not the whole path or URI of one file or folder"):
        shop.order(reconcile.FORM, dry_run=False, snapshot=snapshot, **given)
    assert shop.publications.last_number() == last


def test_retention_forgets_what_no_version_needs(shop):
    shop.says('[retention]\nhistory = "1d"\nchanges = "1d"\n')
    assert set(shop.trigger("maintain", dry_run=False).values()) == {"success"}
