"""NULLs in the current rows of a history that this release has made, by its files' statistics."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from strandline.alone.stores.nulls import counted


@pytest.fixture
def history(tmp_path):
    """A history of four keys: two current rows are NULL in `name`, and so is an ended one."""
    rows = [
        {"id": number, "name": name, "_is_current": current, "_is_head": head}
        for number, (name, current, head) in enumerate([
            ("ada", True, True), (None, True, True), (None, True, True), (None, False, True),
            (None, False, False), (None, False, False),
        ])
    ]  # fmt: skip
    path = str(tmp_path / "history")
    write_deltalake(path, pa.Table.from_pylist(rows), partition_by=["_is_head"])
    return path


def test_only_current_rows_are_counted(history):
    assert counted(history, 0, {"name": 0, "id": 0}).counts == {"name": 2, "id": 0}


def test_where_the_statistics_say_that_there_are_no_more_than_may_be_nothing_is_read(history):
    for file in Path(history).rglob("*.parquet"):
        file.unlink()
    assert counted(history, 0, {"name": 3, "id": 0}).counts == {"name": 3, "id": 0}


def test_a_column_without_statistics_is_looked_at(tmp_path):
    path = str(tmp_path / "history")
    rows = {"id": [1, 2], "name": ["ada", None], "_is_current": [True] * 2, "_is_head": [True] * 2}
    unknown = {"delta.dataSkippingStatsColumns": "id"}
    write_deltalake(path, pa.table(rows), partition_by=["_is_head"], configuration=unknown)
    assert counted(path, 0, {"name": 9}).counts == {"name": 1}


def test_a_name_of_any_letters_is_that_of_its_column(tmp_path):
    path = str(tmp_path / "history")
    rows = {'a "b".c': [None, "x"], "_is_current": [True] * 2, "_is_head": [True] * 2}
    write_deltalake(path, pa.table(rows), partition_by=["_is_head"])
    assert counted(path, 0, {'a "b".c': 0}).counts == {'a "b".c': 1}


def test_a_column_that_is_not_there_is_left_out_and_those_that_are_are_told(history):
    found = counted(history, 0, {"nmae": 0})
    assert (found.counts, found.columns) == ({}, ("id", "name"))


def test_it_is_asked_of_the_version_and_not_of_what_came_since(history):
    more = {"id": [9], "name": [None], "_is_current": [True], "_is_head": [True]}
    write_deltalake(history, pa.table(more, pa.schema([
        ("id", pa.int64()), ("name", pa.string()), ("_is_current", pa.bool_()),
        ("_is_head", pa.bool_()),
    ])), mode="append")  # fmt: skip
    assert counted(history, 0, {"name": 0}).counts == {"name": 2}
    assert counted(history, 1, {"name": 0}).counts == {"name": 3}
