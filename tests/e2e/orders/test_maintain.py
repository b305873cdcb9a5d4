"""`maintain__SOURCE` on a lake that other runs have written."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from strandline_airflow.forms import maintain
from strandline_airflow.pipelines.pipeline import Form

pytestmark = pytest.mark.heavy

NAMES = ("ada", "bob", "eve", "joe")
POLICY = '[retention]\nversions = "2d"\nhistory = "100d"\nchanges = "100d"\nlanding = "30d"\n'


def form(*, later=0, **options):
    """The form of maintenance as of so many days from now, with some options set otherwise."""

    def order(source, params, run_after):
        made = maintain.order(source, params, run_after + timedelta(days=later))
        return replace(made, options={**made.options, **options})

    return Form("maintain", maintain.FORM.params, order)


def data_files(path):
    return sum(1 for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts)


@pytest.fixture(scope="module")
def tended(shop):
    """The shop after four runs, and a run of the DAG."""
    shop.says(POLICY)
    for at, name in enumerate(NAMES, 10):
        shop.stream.change("c" if name == "ada" else "u", 1, at, name=name)
        shop.arrive()
    shop.first_version = shop.published().history_version
    shop.story = shop.history()
    shop.planned = shop.trigger("maintain")
    shop.unplanned = shop.published()
    shop.states = shop.trigger("maintain", dry_run=False)
    shop.tended = shop.published()
    return shop


def test_a_dry_run_plans_and_changes_nothing(tended):
    assert set(tended.planned.values()) == {"skipped"}
    assert tended.unplanned.history_version == tended.first_version


def test_small_files_become_few_and_the_history_stays(tended):
    assert set(tended.states.values()) == {"success"}
    assert tended.history() == tended.story
    for path in (tended.lake.landing, tended.lake.records("public.item")):
        assert len(DeltaTable(path).file_uris()) == 1


def test_how_long_it_took_is_published_too(tended):
    assert tended.published().seconds > 0


def test_what_maintenance_wrote_is_published(tended):
    assert tended.tended.history_version == DeltaTable(tended.lake.history("public.item")).version()
    assert not tended.tended.changed
    assert (tended.tended.counts.history_rows, tended.tended.counts.current_rows) == (4, 1)


def test_what_was_published_within_the_policy_stays_readable(tended):
    assert tended.history(tended.first_version) == tended.story


def test_a_publication_that_stands_keeps_its_files_however_old_they_are(tended):
    """A run that commits and is not published leaves readers with the version before, for long."""
    standing, story = tended.tended.history_version, tended.history()
    tended.stream.change("u", 1, 50, name="zoe")
    tended.arrive()
    tended.order(form(keep_hours=0, published={"public.item": standing}), dry_run=False)
    assert tended.history(standing) == story


def test_files_of_versions_that_nobody_is_told_of_are_deleted(tended):
    files = data_files(tended.lake.history("public.item"))
    tended.order(form(keep_hours=0), optimize=False, dry_run=False)
    assert data_files(tended.lake.history("public.item")) < files
    assert tended.history()[-1] == "1: zoe"
    with pytest.raises(Exception, match=r"not found|No such file"):
        tended.history(tended.tended.history_version)


def test_the_policy_forgets_records_changes_and_versions_but_never_the_last_one(tended):
    receipt = tended.order(form(later=90), dry_run=False)
    assert tended.history() == ["1: zoe"]
    assert receipt.counts.history_rows == 1
    assert receipt.did["versions forgotten"] == 4
    kept = tended.rows(tended.lake.records("public.item"))
    assert sorted(json.loads(row["value"])["payload"]["op"] for row in kept) == ["c", "u"]
    assert tended.rows(tended.lake.landing) == []


def test_runs_go_on_from_the_totals_that_are_left(tended):
    tended.stream.change("u", 1, 60, name="max")
    tended.stream.change("u", 1, 12, name="late", partition=1)
    tended.arrive()
    counts = tended.published().counts
    assert len(tended.history()) == counts.history_rows
    assert tended.history() == ["1: max"]  # zoe ended before what is kept


def test_a_table_that_is_not_there_is_named_with_the_closest(tended):
    with pytest.raises(Exception, match=r"has no table 'public\.itme'; .*public\.item"):
        tended.order(maintain.FORM, tables=["public.itme"])
