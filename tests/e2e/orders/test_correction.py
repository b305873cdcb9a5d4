"""`reconcile__SOURCE` that asks the source's database, and corrects what the history has wrong."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from strandline_airflow.forms import erase, reconcile, replay

from strandline.errors import SpecError

pytestmark = pytest.mark.heavy

NOW = datetime(2026, 11, 1, tzinfo=UTC).isoformat()
GIVEN = {"table": "public.item", "connection": "shop_db", "query": "SELECT * FROM item"}
CORRECTED = [
    "1: ada",
    "2: eve|snapshot_correction",
    "2: bob",
    "3: gone|snapshot_absent",
    "4: new",
    "5: old|delete",
    "5: back",
]


@pytest.fixture(scope="module")
def corrected(shop, tmp_path_factory):
    """Changes that never reached Kafka: an update, a delete, two inserts."""
    stream = shop.stream
    stream.change("c", 1, 10, name="ada")
    stream.change("c", 2, 20, name="eve", bio="x")
    stream.change("c", 3, 30, name="gone")
    stream.change("c", 5, 40, name="old")
    stream.change("d", 5, 50)
    shop.arrive()
    path = tmp_path_factory.mktemp("database") / "shop.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")
        rows = [(1, "ada"), (2, "bob"), (4, "new"), (5, "back")]
        database.executemany("INSERT INTO item VALUES (?, ?)", rows)
    with pytest.MonkeyPatch.context() as environment:
        connection = json.dumps({"conn_type": "sqlite", "host": str(path)})
        environment.setenv("AIRFLOW_CONN_SHOP_DB", connection)
        shop.before = shop.history()
        shop.planned = shop.trigger("reconcile", **GIVEN, correct=True)
        shop.untouched = shop.history()
        shop.states = shop.trigger("reconcile", **GIVEN, as_of=NOW, correct=True, dry_run=False)
        yield shop


def test_a_dry_run_asks_nothing_and_corrects_nothing(corrected):
    assert set(corrected.planned.values()) == {"skipped"}
    assert corrected.untouched == corrected.before
    listed = corrected.rows(corrected.lake.differences)
    assert {row["run"] for row in listed} == {2}


def test_what_differs_is_closed_as_a_correction_and_goes_on_as_the_source_says(corrected):
    assert set(corrected.states.values()) == {"success"}
    assert corrected.history() == CORRECTED
    counts = corrected.published().counts
    assert counts.conserved
    assert (counts.history_rows, counts.current_rows) == (7, 4)


def test_a_correction_says_when_it_was_read_and_from_what(corrected):
    rows = corrected.rows(corrected.lake.history("public.item"))
    (bob,) = (row for row in rows if row["name"] == "bob")
    assert bob["_valid_from"].isoformat() == NOW
    assert (bob["_topic"], bob["_offset"], bob["_op"]) == ("reconciliation", 2, "r")
    assert bob["_position"] == "reconciliation of run 2"
    assert bob["_ts_quality"] == "snapshot"


def test_a_column_that_was_not_asked_for_keeps_its_value(corrected):
    rows = corrected.rows(corrected.lake.history("public.item"))
    bios = {row["name"]: (row["bio"], row["_unavailable"]) for row in rows}
    assert bios["bob"] == ("x", [])
    assert bios["new"] == (None, ["bio"])


def test_a_corrected_table_is_as_its_source(corrected):
    story = corrected.history()
    receipt = corrected.order(reconcile.FORM, **GIVEN, correct=True, dry_run=False)
    assert receipt.did == {"equal": 4}
    assert not receipt.changed
    assert corrected.history() == story


def test_what_the_source_sends_later_goes_on_from_the_correction(corrected):
    corrected.stream.change("u", 2, 60, name="max")
    corrected.stream.change("d", 4, 70)
    corrected.stream.change("u", 1, 80, name="ada l.")
    corrected.arrive()
    assert corrected.history() == [
        "1: ada|update",
        "1: ada l.",
        "2: eve|snapshot_correction",
        "2: bob|update",
        "2: max",
        "3: gone|snapshot_absent",
        "4: new|delete",
        "5: old|delete",
        "5: back",
    ]


def test_keys_that_changed_since_are_listed_but_left_alone(corrected):
    story = corrected.history()
    corrected.order(
        reconcile.FORM,
        **GIVEN,
        as_of=datetime(2026, 9, 1, tzinfo=UTC).isoformat(),
        correct=True,
        dry_run=False,
    )
    assert corrected.history() == story


def test_a_replay_keeps_the_corrections(corrected):
    story = corrected.history()
    receipt = corrected.order(replay.FORM, tables=["public.item"], swap=True, dry_run=False)
    assert corrected.history() == story
    assert receipt.counts.history_rows == len(story)


def test_an_erasure_takes_corrections_and_the_copy_of_the_database_along(corrected):
    assert DeltaTable(corrected.lake.snapshot("public.item")).version() >= 0
    corrected.order(erase.FORM, table="public.item", keys=['{"id": 2}'], dry_run=False)
    assert not [line for line in corrected.history() if line.startswith("2:")]
    known = corrected.rows(corrected.lake.records("public.item"))
    assert '{"id":2}' not in {row["entry_key"] for row in known}
    assert not DeltaTable.is_deltatable(corrected.lake.snapshot("public.item"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"query": ""}, "'query' is missing"),
        ({"snapshot": "/x.csv"}, "a snapshot or a connection, not both"),
        ({"connection": ""}, "the snapshot of its rows or a connection"),
        ({"connection": "nowhere"}, "no Airflow connection 'nowhere'.*AIRFLOW_CONN_NOWHERE"),
        ({"connection": "kafka_shop"}, "connection 'kafka_shop'"),
        ({"query": "SELECT * FROM items"}, "says: no such table: items; mend the query"),
        ({"query": "DROP TABLE IF EXISTS other"}, "selects nothing"),
        ({"query": "SELECT name FROM item"}, "has no column 'id', which is of its key"),
        ({"query": "SELECT name AS id FROM item"}, "4 cells in column 'id' that are no int"),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(corrected, given, says):
    with pytest.raises(Exception, match=says):
        corrected.order(reconcile.FORM, **{**GIVEN, "as_of": NOW, **given}, dry_run=False)


def test_an_order_without_a_table_names_what_is_missing(corrected):
    with pytest.raises(SpecError, match="name the table"):
        corrected.order(reconcile.FORM, **{**GIVEN, "table": ""}, dry_run=False)
