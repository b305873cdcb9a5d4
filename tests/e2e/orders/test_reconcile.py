"""`reconcile__SOURCE`: a table against files of its source's rows."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from strandline_airflow.forms import reconcile

from strandline.errors import SpecError

pytestmark = pytest.mark.heavy

NOW = datetime(2026, 11, 1, tzinfo=UTC).isoformat()
ROWS = [
    {"id": 1, "name": "ada", "bio": None},
    {"id": 2, "name": "bob, \"the\" 'one'", "bio": "x"},
    {"id": 4, "name": "new", "bio": None},
]


@pytest.fixture(scope="module")
def compared(shop, tmp_path_factory):
    stream = shop.stream
    stream.change("c", 1, 10, name="ada")
    stream.change("c", 2, 20, name="eve", bio="x")
    stream.change("c", 3, 30, name="gone")
    shop.arrive()
    shop.files = tmp_path_factory.mktemp("snapshot")
    jsonl = shop.files / "item.jsonl"
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), shop.files / "item.parquet")
    (shop.files / "item.csv").write_text(
        'id,name,bio\n1,ada,\\N\n2,"bob, ""the"" \'one\'",x\n4,new,\\N\n'
    )
    given = {"table": "public.item", "snapshot": str(jsonl), "as_of": NOW}
    shop.planned = shop.trigger("reconcile", **given)
    shop.states = shop.trigger("reconcile", **given, dry_run=False)
    shop.listed = shop.rows(shop.lake.differences)
    return shop


def test_a_dry_run_lists_nothing(compared):
    assert set(compared.planned.values()) == {"skipped"}
    assert {row["run"] for row in compared.listed} == {2}


def test_every_difference_is_listed_with_its_columns(compared):
    assert set(compared.states.values()) == {"success"}
    assert sorted((row["key"], row["kind"], row["columns"]) for row in compared.listed) == [
        ('{"id":2}', "different", ["name"]),
        ('{"id":3}', "not in the source", None),
        ('{"id":4}', "not in the history", None),
    ]


@pytest.mark.parametrize("name", ["item.parquet", "item.csv"])
def test_other_formats_give_the_same(compared, name):
    given = {"table": "public.item", "snapshot": str(compared.files / name), "as_of": NOW}
    receipt = compared.order(reconcile.FORM, **given, null="\\N", dry_run=False)
    assert receipt.did == {
        "equal": 1, "different": 1, "not in the source": 1, "not in the history": 1
    }  # fmt: skip


def test_what_changed_after_the_snapshot_is_told_apart(compared):
    compared.order(
        reconcile.FORM,
        table="public.item",
        snapshot=str(compared.files / "item.parquet"),
        as_of=datetime(2026, 9, 1, tzinfo=UTC).isoformat(),
        dry_run=False,
    )
    run = compared.published().number
    rows = [row for row in compared.rows(compared.lake.differences) if row["run"] == run]
    assert {row["kind"] for row in rows} == {"not in the history"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"table": ""}, "name the table"),
        ({"as_of": None}, "'as_of' is missing"),
        ({"snapshot": "/x.xlsx"}, "must end in one of .csv, .parquet"),
        ({"table": "items"}, "has no table 'items'"),
    ],
)
def test_what_cannot_be_compared_says_what_to_write(compared, given, says):
    asked = {"table": "public.item", "snapshot": "/x.csv", "as_of": NOW, **given}
    with pytest.raises(SpecError, match=says):
        compared.order(reconcile.FORM, dry_run=False, **asked)


def test_a_snapshot_without_the_key_says_which_column_it_lacks(compared):
    path = compared.files / "bare.csv"
    path.write_text("name\nada\n")
    with pytest.raises(Exception, match="has no column 'id', which is of its key"):
        compared.order(
            reconcile.FORM, table="public.item", snapshot=str(path), as_of=NOW, dry_run=False
        )
