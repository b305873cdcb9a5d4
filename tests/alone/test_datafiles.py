"""Files that tasks write, and the commit that adds them."""

import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from strandline.alone.stores import datafiles
from strandline.alone.stores.datafiles import Target, Writer, Writers
from strandline.alone.stores.fencing import Kept, OvertakenError
from strandline.alone.stores.tables import opened, selected

_TYPES = {"name": pa.string(), "n": pa.int64(), "at": pa.timestamp("us", "UTC"), "last": pa.bool_()}
COLUMNS = pa.schema(list(_TYPES.items()))
DAY = date(2026, 1, 2)
NOON = datetime(2026, 1, 2, 12, 0, 0, 7, tzinfo=UTC)


def rows(*names, last=True):
    count = len(names)
    return pa.table([names, range(count), [NOON] * count, [last] * count], schema=COLUMNS)


@pytest.fixture
def target(tmp_path):
    return Target.of(f"{tmp_path}/table", ["name", "n", "at"], ["name"])


@pytest.fixture
def table(target):
    return Kept(target.uri, partitions=["last"])


def written(target, *tables):
    writers = Writers(target, "last")
    for each in tables:
        writers.write(each)
    return writers.close()


def names(table):
    return sorted(selected(table.open(), "SELECT name FROM stored")["name"].to_pylist())


def test_files_are_no_part_of_the_table_until_a_commit_adds_them(target, table):
    files = written(target, rows("a", "b"), rows("c", last=False), rows("d"))
    assert opened(target.uri) is None
    table.add(None, files, COLUMNS, 1, text="{}")
    assert names(table) == ["a", "b", "c", "d"]
    assert table.open().transaction_version("strandline") == 1
    assert {file.partition["last"] for file in files} == {"true", "false"}


def test_what_is_added_whole_takes_the_place_of_all_there_was(target, table):
    table.add(None, written(target, rows("a")), COLUMNS, 1)
    table.add(table.open(), written(target, rows("b")), COLUMNS, 2)
    assert names(table) == ["a", "b"]
    table.add(table.open(), written(target, rows("c")), COLUMNS, 3, whole=True)
    assert names(table) == ["c"]


def test_a_run_adds_its_files_once(target, table):
    files = written(target, rows("a"))
    table.add(None, files, COLUMNS, 1)
    with pytest.raises(OvertakenError):
        table.add(table.open(), files, COLUMNS, 1)
    with pytest.raises(OvertakenError):
        table.add(None, files, COLUMNS, 2)
    assert names(table) == ["a"]


def test_the_log_knows_the_rows_of_a_file_and_the_bounds_of_its_columns(target, table):
    table.add(None, written(target, rows("b", None, "a")), COLUMNS, 1)
    (file,) = pa.table(table.open().get_add_actions(flatten=True)).to_pylist()
    assert (file["num_records"], file["null_count.name"]) == (3, 1)
    assert (file["min.name"], file["max.name"], file["max.n"]) == ("a", "b", 2)
    assert file["min.at"] == NOON


@pytest.mark.parametrize(
    ("value", "bound"),
    [("x" * 64, "x" * 64), ("x" * 65, None), (0.5, None), (True, None), (DAY, "2026-01-02")],
)
def test_a_bound_that_is_long_or_of_no_certain_order_is_not_told(tmp_path, value, bound):
    target = Target.of(f"{tmp_path}/table", ["value"], [])
    writer = Writer(target)
    writer.write(pa.table({"value": [value]}))
    (file,) = writer.close()
    assert json.loads(file.statistics)["maxValues"].get("value") == bound


def test_a_large_file_is_followed_by_another(target, monkeypatch):
    monkeypatch.setattr(datafiles, "_LONG", 1)
    monkeypatch.setattr(datafiles, "_LARGE", 1)
    writer = Writer(target)
    for name in "abc":
        writer.write(rows(name))
    assert len(writer.close()) == 3
