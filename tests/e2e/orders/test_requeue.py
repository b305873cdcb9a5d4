"""`requeue__SOURCE`: records that no column of their key named, and a source file that names it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from strandline_airflow.forms import requeue
from strandline_airflow.runs import order_run
from strandline_airflow.runs.folder import read_manifest
from strandline_spark.work import done

from strandline.errors import SpecError

pytestmark = pytest.mark.heavy

MENDED = '[[table]]\ntopic = "shop.public.item"\nname = "public.item"\nkey = ["id"]\n'


def keyless(stream, op, key, at, name=None):
    """A change whose record has no key."""
    record = stream.change(op, key, at, name=name)
    stream.records[-1] = type(record)(record.at, record.timestamp, None, record.value)


@pytest.fixture(scope="module")
def mended(shop):
    """Three keyless records and one that is no JSON, then the key's columns in the source file."""
    stream = shop.stream
    stream.change("c", 1, 10, name="ada")
    keyless(stream, "u", 1, 20, "bob")
    stream.change("u", 1, 30, name="eve")
    keyless(stream, "c", 2, 15, "zoe")
    keyless(stream, "d", 2, 25)
    stream.add(b"{}", b"no json")
    shop.arrive()
    shop.untouched = shop.history(), shop.published()
    shop.told = refusal(shop, reason="no_kye")
    shop.says(MENDED)
    shop.planned = shop.trigger("requeue", dry_run=True)
    shop.kept = reasons(shop)
    shop.states = shop.trigger("requeue", dry_run=False)
    return shop


def refusal(shop, **given):
    with pytest.raises(SpecError) as told:
        shop.order(requeue.FORM, dry_run=False, **given)
    return str(told.value)


def reasons(shop):
    return sorted(row["reason"] for row in shop.rows(shop.lake.quarantine))


def test_before_the_mending_they_are_in_quarantine_and_not_in_the_history(mended):
    history, row = mended.untouched
    assert history == ["1: ada|update", "1: eve"]
    assert row.counts.quarantined == 4


def test_a_dry_run_plans_and_changes_nothing(mended):
    assert set(mended.planned.values()) == {"skipped"}
    assert mended.kept == ["invalid_json", "no_key", "no_key", "no_key"]


def test_what_can_be_read_now_is_in_the_history_where_it_belongs(mended):
    assert set(mended.states.values()) == {"success"}
    assert mended.history() == ["1: ada|update", "1: bob|update", "1: eve", "2: zoe|delete"]


def test_what_turned_into_changes_has_left_and_the_rest_stays_once(mended):
    assert reasons(mended) == ["invalid_json"]


def test_every_record_that_was_read_again_is_accounted_for(mended):
    counts = mended.published().counts
    assert (counts.landed, counts.changes, counts.quarantined) == (4, 3, 1)
    assert counts.conserved


def test_what_was_applied_stays_applied(mended):
    assert mended.published().applied == mended.untouched[1].applied


def test_what_is_not_in_quarantine_cannot_be_asked_for(mended):
    assert mended.told.startswith("nothing is refused as 'no_kye'; the closest of 2 is no_key")
    assert "has no table 'items'" in refusal(mended, tables=["items"])
    assert "needs an offset from UTC" in refusal(mended, since="2026-11-21T12:00:00")
    swapped = {"since": "2026-11-22T00:00:00Z", "until": "2026-11-21T00:00:00Z"}
    assert "swap them" in refusal(mended, **swapped)


def test_reading_the_same_records_again_changes_nothing(mended):
    story = mended.history()
    receipt = mended.order(requeue.FORM, dry_run=False, reason="invalid_json")
    assert receipt.did == {"read again": 1, "refused again": 1}
    assert mended.history() == story
    assert reasons(mended) == ["invalid_json"]


def test_a_run_that_died_once_its_records_had_left_tells_the_same_of_them_again(mended):
    given = {name: param.resolve() for name, param in requeue.FORM.params.items()}
    params = {**given, "reason": "invalid_json", "dry_run": False}
    run_after = datetime.now(UTC)
    order = requeue.FORM.order(mended.source, params, run_after)
    path = order_run.plan(mended.source, order, run_after, dry=False)
    (first,) = done(mended.spark, read_manifest(path)).tables
    again = mended.work_off(path)
    assert first.did == {"read again": 1, "refused again": 1}
    assert replace(again, seconds=first.seconds) == first


def test_a_span_of_time_selects_by_the_time_that_kafka_gave(mended):
    stream = mended.stream
    stream.add(b"{}", b"still no json")
    mended.arrive()
    last = datetime.fromtimestamp(stream.records[-1].timestamp / 1000, UTC)
    assert mended.order(requeue.FORM, dry_run=False, since=last.isoformat()).counts.landed == 1
    assert mended.order(requeue.FORM, dry_run=False, until=last.isoformat()).counts.landed == 1
