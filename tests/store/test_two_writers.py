"""Two writers at one table on a store, of which at least one is a driver of Spark: one commits.

Each test holds the commit of a history on its way to the store, until somebody else has made one of
that number.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from samples.events import Stream
from stages import s3_stage
from strandline_airflow.runs.folder import read_receipt

from strandline.alone.stores import fencing
from strandline.alone.stores.tables import log_file, opened
from strandline.alone.work import work_off
from strandline.runs.receipt import Receipt
from strandline.runs.way import Way

pytestmark = pytest.mark.heavy

COMMIT = r"/history/_delta_log/\d+\.json"
TESTS = Path(__file__).parents[1]


def newest(runs):
    """The number of the last commit of the history, the run that it is of, and all that it says."""
    table = opened(runs.capture.lake.history(Stream().topic))
    number = table.version()
    return number, fencing.applied(table), log_file(table.table_uri, number)


def assert_alike(mine, other):
    assert (mine.error, other.error) == (None, None)
    assert (mine.counts, mine.history_version) == (other.counts, other.history_version)


@pytest.mark.parametrize("other", ["process", "driver"])
def test_a_driver_whose_commit_comes_second_is_refused_and_says_what_was_done(
    runs, proxy, begin, other
):
    manifest = runs.next()
    rival = begin() if other == "driver" else nullcontext()
    with rival as second, ThreadPoolExecutor(1) as first:
        with proxy.holding("PUT", COMMIT) as held:
            attempt = first.submit(runs.driver.attempt, manifest)
            held()
            if second is None:
                (made,) = work_off(replace(manifest, way=Way.ALONE)).tables
            else:
                (made,) = second.done(manifest).tables
            commit = newest(runs)
        assert attempt.result() is None
    (told,) = read_receipt(manifest).tables
    assert_alike(told, made)
    assert newest(runs) == commit
    assert commit[1] == runs.number
    assert_alike(runs.heal(manifest), made)


def test_a_process_without_spark_whose_commit_comes_second_is_refused_and_says_what_was_done(
    runs, proxy, store, tmp_path
):
    manifest = runs.next()
    file = tmp_path / "manifest.json"
    file.write_text(replace(manifest, way=Way.ALONE).to_json())
    variables = s3_stage.variables(proxy.endpoint, store.secret)
    with proxy.holding("PUT", COMMIT) as held:
        process = subprocess.Popen(
            [sys.executable, "-m", "death", str(file), "99", "before"],
            env={**variables, "PYTHONPATH": f"{TESTS / 'alone'}:{TESTS.parent}"},
            stdout=subprocess.PIPE,
            text=True,
        )
        held()
        (made,) = runs.driver.done(manifest).tables
        commit = newest(runs)
    (told,) = Receipt.from_json(process.communicate()[0]).tables
    assert_alike(told, made)
    assert newest(runs) == commit
    assert_alike(runs.heal(manifest), made)
