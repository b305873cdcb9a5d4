"""Runs alone on a lake in an S3-compatible store, whose conditional puts refuse a second writer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from samples.events import Stream
from stages import s3_stage

from strandline.alone.capture import CaptureLake
from strandline.alone.engine import histories
from strandline.alone.stores import fencing
from strandline.alone.stores.tables import opened, rows
from strandline.alone.work import work_off
from strandline.cells import rendering
from strandline.engine import recorded_at
from strandline.errors import Terminal, Transient
from strandline.law import in_runs
from strandline.runs.lake import SourceLake
from strandline.runs.receipt import Receipt

TESTS = Path(__file__).parents[1]
TOPIC = Stream().topic


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with s3_stage.opened(tmp_path_factory.mktemp("s3")) as store:
        yield store


@pytest.fixture(params=["s3", "s3a"])
def capture(store, request, monkeypatch):
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    root = f"{request.param}://{store.bucket}/{request.node.name.replace('[', '-')[:-1]}"
    return lake(root)


def lake(root):
    moment = recorded_at([Stream().change("c", 1, 1)])
    return CaptureLake(SourceLake(root, "shop"), "postgresql", moment)


def batches():
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("c", 2, 11, name="B")
    s.add(b'{"id":9}', b"no JSON")
    first = len(s.records)
    s.change("u", 1, 20, name="C")
    s.change("d", 2, 21)
    return [s.records[:first], s.records[first:]]


def process(manifest, tmp_path, *words):
    file = tmp_path / f"manifest-{manifest.number}.json"
    file.write_text(manifest.to_json())
    return subprocess.Popen(
        [sys.executable, "-m", "death", str(file), *map(str, words)],
        env={**os.environ, "PYTHONPATH": f"{TESTS / 'alone'}:{TESTS.parent}"},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_runs_on_a_store_have_the_law_s_history(capture):
    runs = batches()
    receipts = list(capture.runs(runs))
    law = in_runs(runs, recorded_at=capture.moment)
    meant = [rendering.line(t.topic, v.cells()) for t in law.tables for v in t.versions]
    assert [rendering.line(*row) for row in histories(capture.lake, receipts)] == meant
    assert len(rows(opened(capture.lake.quarantine), "SELECT * FROM stored")) == 1


def test_of_processes_with_one_manifest_one_commits_and_all_say_what_was_done(capture, tmp_path):
    first, _ = batches()
    capture.land(first)
    manifest = capture.manifest(1, first)
    rivals = [process(manifest, tmp_path, 99, "before") for _ in range(3)]
    receipts = [Receipt.from_json(rival.communicate()[0]) for rival in rivals]
    assert [table.error for receipt in receipts for table in receipt.tables] == [None] * 3
    assert len({receipt.tables[0].counts for receipt in receipts}) == 1
    history = opened(capture.lake.history(TOPIC))
    assert (history.version(), fencing.applied(history)) == (0, 1)
    assert len(rows(history, "SELECT * FROM stored")) == 2


@pytest.mark.parametrize("commit", range(3))
def test_a_run_that_was_killed_at_a_commit_is_done_by_its_repetition(capture, tmp_path, commit):
    first, second = batches()
    capture.land(first)
    work_off(capture.manifest(1, first))
    capture.land(second)
    manifest = capture.manifest(2, second)
    killed = process(manifest, tmp_path, commit, "after")
    answer, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL or Receipt.from_json(answer)
    (table,) = work_off(manifest).tables
    assert (table.error, table.counts.history_rows) == (None, 3)


def test_a_store_that_refuses_is_told_with_what_to_do(capture, monkeypatch):
    first, _ = batches()
    capture.land(first)
    manifest = capture.manifest(1, first)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(Terminal, match=r"the lake cannot be used at s3.*set another root"):
        work_off(manifest)


def test_a_store_that_is_away_fails_for_now_and_the_next_attempt_does_the_run(
    tmp_path, monkeypatch
):
    first, _ = batches()
    with s3_stage.opened(tmp_path) as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        capture = lake(f"s3://{store.bucket}/away")
        capture.land(first)
        manifest = capture.manifest(1, first)
        options = '{"max_retries": "0", "retry_timeout": "1s", "connect_timeout": "1s"}'
        monkeypatch.setenv("STRANDLINE_STORAGE_OPTIONS", options)
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        with pytest.raises(Transient, match=r"store does not do GET .* see that the store is up"):
            work_off(manifest)
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.environment["AWS_ENDPOINT_URL"])
        (table,) = work_off(manifest).tables
        assert (table.error, table.counts.history_rows) == (None, 2)
