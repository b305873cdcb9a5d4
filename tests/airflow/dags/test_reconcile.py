"""What `reconcile__SOURCE` makes of its form, before anything is compared."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from stages.page_stage import NOON
from strandline_airflow.forms import reconcile
from strandline_airflow.runs.publications import Publications

from strandline.errors import SpecError, Terminal
from strandline.runs.lake import SourceLake

pytestmark = pytest.mark.usefixtures("published")


@pytest.fixture
def order(source):
    """The order of a form for table `orders`, as of noon; of the rest there are the defaults."""

    def order(by=source, **given):
        params = {name: param.resolve() for name, param in reconcile.FORM.params.items()}
        given = {"table": "orders", "as_of": NOON.isoformat(), **given}
        return reconcile.order(by, {**params, **given}, NOON)

    return order


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,name\n")
    return path


def test_a_snapshot_that_is_there_is_compared(order, snapshot):
    for written in (snapshot, f"file://{snapshot}", f"file:{snapshot}"):
        assert order(snapshot=str(written)).options["snapshot"] == str(written)


def test_a_text_that_was_emptied_is_as_one_that_nobody_wrote(order, snapshot):
    emptied = order(snapshot=str(snapshot), connection=None, query=None, null=None)
    assert emptied == order(snapshot=str(snapshot))


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_snapshot_that_is_not_there_is_refused_by_the_plan(order, tmp_path, scheme):
    with pytest.raises(SpecError, match=r"'snapshot': there is nothing at .*/nowhere\.csv"):
        order(snapshot=f"{scheme}{tmp_path}/nowhere.csv")


@pytest.mark.parametrize("written", ["s3a://bucket/rows.csv", "/rows/*.csv", "rows.csv"])
def test_what_only_spark_can_look_for_is_left_to_it(order, written):
    assert order(snapshot=written).options["snapshot"] == written


@pytest.mark.parametrize("written", ["/rows/*.csv", "rows.csv"])
def test_what_only_spark_can_look_for_is_refused_without_it(order, source, written):
    with pytest.raises(SpecError, match="is not the whole path or URI of one file or folder"):
        order(replace(source, alone=True), snapshot=written)


def test_files_beside_a_lake_that_is_elsewhere_are_left_to_spark(order, source, monkeypatch):
    rows = Publications(SourceLake(source.lake, source.name)).last()
    monkeypatch.setattr(Publications, "last", lambda _: rows)
    made = order(replace(source, lake="s3://bucket/lake"), snapshot="/nowhere.csv")
    assert made.options["snapshot"] == "/nowhere.csv"


@pytest.mark.parametrize("correct", [False, True])
def test_rows_cannot_have_been_read_after_the_run_began(order, snapshot, correct):
    late = (NOON + timedelta(seconds=1)).isoformat()
    with pytest.raises(SpecError, match=r"'as_of' .* is later than this run's own time"):
        order(snapshot=str(snapshot), as_of=late, correct=correct)


def test_a_connection_is_looked_for_by_the_plan(order, monkeypatch, tmp_path):
    query = {"query": "SELECT * FROM item"}
    with pytest.raises(Terminal, match="no Airflow connection 'nope'"):
        order(connection="nope", **query)
    connection = json.dumps({"conn_type": "sqlite", "host": str(tmp_path / "never made")})
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", connection)
    assert order(connection="shop_db", **query).lines[0].endswith("'shop_db' answers")
    assert not (tmp_path / "never made").exists()
