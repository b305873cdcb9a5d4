"""Deaths of a run alone, and rivals: whatever happens on the way, the lake ends up the same."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import write_deltalake
from samples.damage import corrupt, gone
from samples.events import Stream

from strandline.alone.capture import CaptureLake
from strandline.alone.stores import history
from strandline.alone.stores.tables import opened, rows, whole
from strandline.alone.work import work_off
from strandline.engine import recorded_at
from strandline.law import interpret
from strandline.runs.lake import SourceLake
from strandline.runs.receipt import Receipt

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
COMMITS = 3  # of a run: quarantine, records, history


def stream():
    s = Stream()
    for key in range(5):
        s.change("c", key, 10 + key, name=f"name {key}")
    s.add(b'{"id":9}', b"no JSON")
    first = len(s.records)
    s.change("u", 1, 50, name="changed")
    s.change("d", 2, 51)
    s.change("c", 7, 52, name="new")
    s.add(b'{"id":8}', b"no JSON either")
    return s.records[:first], s.records[first:]


@pytest.fixture
def lake(tmp_path):
    """A lake with two runs' records, and the manifests of both."""
    first, second = stream()
    made = CaptureLake(
        SourceLake(tmp_path.as_posix(), "shop"), "postgresql", recorded_at([*first, *second])
    )
    made.land(first)
    made.land(second)
    return made, made.manifest(1, first), made.manifest(2, second)


def found(lake):
    """All that a run leaves: histories, what is on record, quarantine, each with its run."""
    (topic,) = lake.known
    paths = (lake.lake.history(topic), lake.lake.records(topic), lake.lake.quarantine)
    tables = [opened(path) for path in paths]
    return [
        sorted(map(repr, rows(table, "SELECT * FROM stored"))) if table else [] for table in tables
    ]


PATH = os.pathsep.join(map(str, (TESTS / "alone", TESTS, ROOT)))


def process(manifest, tmp_path, *words, **named):
    file = tmp_path / f"manifest-{manifest.number}.json"
    file.write_text(manifest.to_json())
    return subprocess.Popen(
        [sys.executable, "-m", "death", str(file), *map(str, words)],
        env={**os.environ, "PYTHONPATH": PATH, **named},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def undisturbed(lake, tmp_path_factory, runs):
    """What the same runs leave in a lake of their own, which nothing disturbs."""
    first, second = stream()
    other = CaptureLake(
        SourceLake(tmp_path_factory.mktemp("other").as_posix(), "shop"), "postgresql", lake.moment
    )
    list(other.runs([first, second][:runs]))
    return found(other)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("commit", range(COMMITS))
@pytest.mark.parametrize("run", [1, 2])
def test_a_run_that_was_killed_at_any_commit_is_done_by_its_repetition(
    lake, tmp_path, tmp_path_factory, run, commit, side
):
    made, *manifests = lake
    for manifest in manifests[: run - 1]:
        work_off(manifest)
    killed = process(manifests[run - 1], tmp_path, commit, side)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    receipt = work_off(manifests[run - 1])
    assert [table.error for table in receipt.tables] == [None]
    assert found(made) == undisturbed(made, tmp_path_factory, run)
    assert work_off(manifests[run - 1]).tables[0].counts == receipt.tables[0].counts


def test_a_run_that_died_and_was_passed_over_leaves_nothing_twice(lake, tmp_path):
    made, first, _ = lake
    killed = process(first, tmp_path, 1, "after")  # its records are on record, not its history
    killed.communicate()
    records = [record for part in stream() for record in part]
    receipt = work_off(made.manifest(2, records))
    (table,) = interpret(records, recorded_at=made.moment).tables
    assert receipt.tables[0].counts.changes == table.counts.changes
    assert receipt.tables[0].counts.history_rows == len(table.versions)
    refused = rows(opened(made.lake.quarantine), 'SELECT "offset" FROM stored ORDER BY "offset"')
    assert [row["offset"] for row in refused] == [5, 9]


def test_two_processes_with_one_manifest_leave_what_one_leaves(lake, tmp_path, tmp_path_factory):
    made, first, _ = lake
    rivals = [process(first, tmp_path, 99, "before") for _ in range(2)]
    receipts = [Receipt.from_json(rival.communicate()[0]) for rival in rivals]
    assert [table.error for receipt in receipts for table in receipt.tables] == [None, None]
    assert receipts[0].tables[0].counts == receipts[1].tables[0].counts
    assert found(made) == undisturbed(made, tmp_path_factory, 1)


@pytest.mark.parametrize("commit", range(COMMITS))
def test_a_run_that_wakes_when_the_next_one_is_over_changes_nothing(
    lake, tmp_path, tmp_path_factory, commit
):
    made, first, second = lake
    zombie = process(first, tmp_path, commit, "before", SLEEP="until a line comes")
    assert zombie.stdout.readline() == "asleep\n"
    work_off(first)
    work_off(second)
    answer, _ = zombie.communicate("wake up\n")
    assert found(made) == undisturbed(made, tmp_path_factory, 2)
    assert zombie.returncode == 0
    (table,) = Receipt.from_json(answer).tables
    assert table.error is None


# ---------------------------------------------------------------------------- somebody else's hands


def set_a_property(table):
    table.alter.set_table_properties({"somebody": "here"}, raise_if_not_exists=False)


def write_files_anew(table):
    write_deltalake(table, whole(table, "id < 3"), mode="overwrite", predicate="id < 3")


@pytest.fixture
def meddle(monkeypatch):
    """Lets somebody commit to the history between the look of a run and its commit."""

    def meddling(commit, *, always=False):
        write = history.commit

        def overtaken(uri, *others):
            if not always:
                monkeypatch.setattr(history, "commit", write)
            commit(opened(uri))
            return write(uri, *others)

        monkeypatch.setattr(history, "commit", overtaken)

    return meddling


@pytest.mark.parametrize("commit", [set_a_property, write_files_anew])
def test_a_history_whose_log_somebody_else_advances_is_looked_at_again(
    lake, tmp_path_factory, meddle, commit
):
    made, first, second = lake
    work_off(first)
    meddle(commit)
    (table,) = work_off(second).tables
    assert table.error is None
    assert found(made) == undisturbed(made, tmp_path_factory, 2)


def test_a_history_that_somebody_else_advances_every_time_is_held_for_the_next_run(
    lake, tmp_path_factory, meddle, monkeypatch
):
    made, first, second = lake
    work_off(first)
    before, *_ = found(made)
    meddle(set_a_property, always=True)
    (table,) = work_off(second).tables
    monkeypatch.undo()
    assert table.transient
    assert made.lake.history(table.topic) in table.error
    assert found(made)[0] == before
    assert work_off(second).tables[0].error is None
    assert found(made) == undisturbed(made, tmp_path_factory, 2)


@pytest.mark.parametrize("damage", [gone, corrupt])
def test_a_landing_file_that_cannot_be_read_holds_its_table_alone_only_until_it_is_back(
    tmp_path, damage
):
    good, bad = (Stream(topic=f"shop.public.{name}") for name in ("good", "bad"))
    moment = recorded_at([good.change("c", 1, 1, name="G"), bad.change("c", 1, 1, name="B")])
    made = CaptureLake(SourceLake(tmp_path.as_posix(), "shop"), "postgresql", moment)
    for each in (good, bad):
        made.land(each.records)
    (file,) = (f for f in tmp_path.rglob("landing/**/*.parquet") if b"public.bad" in f.read_bytes())
    manifest = made.manifest(1, [*good.records, *bad.records])
    repair = damage(file)
    told = {table.topic: table for table in work_off(manifest).tables}
    assert told[good.topic].error is None
    held = told[bad.topic]
    assert held.transient
    assert re.search(rf"landing/?: its file \S*{file.name} cannot be read .*restore it", held.error)
    repair()
    (caught_up,) = work_off(made.manifest(2, bad.records)).tables
    assert (caught_up.error, caught_up.counts.history_rows) == (None, 1)


# ---------------------------------------------------------------------------- a full disk

NO_ROOM = r"there is no room at \S*/({0})/?: {1}; make room"


@pytest.fixture
def small_disk(tmp_path):
    """Words that run a command with a file system of 2 MB in the folder; no root is needed."""
    mount = 'mount -t tmpfs -o size=2m none "$0" && exec "$@"'
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(tmp_path)]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"this system gives nobody a file system of his own: {tried.stderr.strip()}")
    return words


def test_on_a_full_disk_nothing_is_half_done_and_the_repetition_does_it(
    lake, tmp_path, tmp_path_factory, small_disk
):
    made, *_ = lake
    ran = subprocess.run(
        [*small_disk, sys.executable, "-m", "full_disk", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": PATH},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    *full, enough = map(json.loads, ran.stdout.splitlines())
    meant = undisturbed(made, tmp_path_factory, 2)
    where = set()
    for told in full:
        said = re.search(NO_ROOM.format(r"\w+", "No space left on device"), told["error"])
        where.add(said[1])
        assert (told["transient"], told["unchanged"], told["again"]) == (True, True, None)
        assert told["left"] == meant
    assert where == {"quarantine", "records", "history"}
    assert (enough["error"], enough["left"]) == (None, meant)


@contextmanager
def no_large_file():
    """No file of this process may grow beyond some bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_where_files_may_not_grow_a_table_is_held_and_the_next_run_applies_it(
    lake, tmp_path_factory
):
    made, first, second = lake
    work_off(first)
    before = found(made)
    with no_large_file():
        (table,) = work_off(second).tables
    assert re.search(NO_ROOM.format("quarantine", "File too large"), table.error)
    assert table.transient
    assert found(made) == before
    (table,) = work_off(second).tables
    assert table.error is None
    assert found(made) == undisturbed(made, tmp_path_factory, 2)
