"""What becomes of the tables that were handed out to an executor which dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strandline.alone.stores.tables import opened, rows
from strandline.runs.lake import SourceLake
from strandline.runs.receipt import Receipt
from strandline.runs.way import Way

pytestmark = pytest.mark.heavy

TESTS = Path(__file__).parents[2]
PARTS = (TESTS / "spark", TESTS, *(TESTS.parent / part for part in ("", "plugins", "spark_apps")))


def test_a_table_whose_executor_was_killed_at_its_commit_is_done_by_another_one(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "executors", str(tmp_path)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, PARTS)),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert (tmp_path / "once").exists()
    receipt = Receipt.from_json(ran.stdout.splitlines()[-1])
    assert [(t.error, t.way, t.counts.changes) for t in receipt.tables] == [
        (None, Way.ALONE, 1)
    ] * 2
    lake = SourceLake((tmp_path / "lake").as_posix(), "shop")
    for table in receipt.tables:
        found = rows(
            opened(lake.history(table.table)), "SELECT name FROM stored ORDER BY _seq_from"
        )
        assert [row["name"] for row in found] == ["a", "b"]
