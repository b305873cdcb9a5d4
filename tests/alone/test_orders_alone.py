"""What people order for tables that go alone: requeue, replay, undo and maintenance."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import pytest
from samples.events import COLUMNS, Stream
from stages.alone_stage import only, run
from stages.order_stage import TOPIC, names, ordered, versions

from strandline.alone.capture import CaptureLake
from strandline.alone.stores import history
from strandline.alone.stores.tables import opened, rows
from strandline.alone.work import work_off
from strandline.changes.rules import TableRules
from strandline.errors import Transient
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.rebuild import Rebuild
from strandline.runs.receipt import Receipt
from strandline.runs.selection import Selection
from strandline.runs.upkeep import Upkeep

TESTS = Path(__file__).parents[1]


def refused(capture):
    sql = 'SELECT "offset", reason, run FROM stored ORDER BY "offset"'
    return [tuple(row.values()) for row in rows(opened(capture.lake.quarantine), sql)]


# ---------------------------------------------------------------------------- requeue


def mended(capture):
    """A lake with a record in quarantine that other rules can read, and one that nothing can."""
    s = Stream()
    s.change("c", 1, 10, name="A")
    keyless = s.change("c", 2, 20, name="B")
    s.records[-1] = replace(keyless, key=None)
    s.add(b'{"id":3}', b"no JSON")
    s.change("u", 1, 30, name="C")
    first = run(capture, 1, s.records)
    assert first.counts.quarantined == 2
    capture.rules = lambda _: TableRules(key=("id",))
    return s


def test_records_that_can_be_read_now_become_versions_and_leave_quarantine(capture):
    mended(capture)
    receipt = only(work_off(ordered(capture, 2, Work.REQUEUE, Selection())))
    assert receipt.did == {"read again": 2, "refused again": 1}
    assert names(capture) == ["A", "C", "B"]
    assert [(offset, number) for offset, _, number in refused(capture)] == [(2, 2)]


def test_only_what_is_selected_is_read_again(capture):
    mended(capture)
    reasons = {offset: reason for offset, reason, _ in refused(capture)}
    selection = Selection(reason=reasons[2])
    receipt = only(work_off(ordered(capture, 2, Work.REQUEUE, selection)))
    assert receipt.did == {"read again": 1, "refused again": 1}
    assert [(offset, number) for offset, _, number in refused(capture)] == [(1, 1), (2, 2)]


def test_a_selection_of_no_record_changes_nothing(capture):
    mended(capture)
    selection = Selection(since="2100-01-01T00:00:00+00:00")
    receipt = only(work_off(ordered(capture, 2, Work.REQUEUE, selection)))
    assert receipt.did == {"read again": 0, "refused again": 0}
    assert len(refused(capture)) == 2


def test_a_requeue_that_is_repeated_says_the_same_and_changes_nothing(capture):
    mended(capture)
    manifest = ordered(capture, 2, Work.REQUEUE, Selection())
    first, again = only(work_off(manifest)), only(work_off(manifest))
    assert (first.did, first.counts) == (again.did, again.counts)
    assert names(capture) == ["A", "C", "B"]


def test_a_tombstone_behind_a_record_that_still_cannot_be_read_does_not_count(capture):
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("c", 2, 11, name="B")
    s.add(s.key(1), b"no JSON")
    s.tombstone(1)
    run(capture, 1, s.records)
    before = only(work_off(ordered(capture, 2, Work.REQUEUE, Selection())))
    assert before.did == {"read again": 1, "refused again": 1}
    assert names(capture) == ["A", "B"]


# ---------------------------------------------------------------------------- replay and undo


def late(capture):
    """A lake that has been compacted by rules which are wrong."""
    s = Stream()
    s.change("c", 1, 10, name="A", bio="x")
    s.change("u", 1, 20, name="A", bio="y")
    s.change("c", 2, 21, name="B")
    capture.rules = lambda _: TableRules(ignore=("bio",))
    run(capture, 1, s.records)
    assert names(capture) == ["A", "B"]
    capture.rules = lambda _: TableRules()
    return s


def test_a_replay_only_compares_unless_it_is_to_swap(capture):
    s = late(capture)
    order = Rebuild(versions(capture))
    receipt = only(work_off(ordered(capture, 2, Work.REPLAY, order, s.records)))
    assert receipt.did == {
        "equal": 1, "different": 1, "only in the old": 0, "only in the new": 1
    }  # fmt: skip
    assert not receipt.changed
    assert names(capture) == ["A", "B"]


def test_a_replay_finds_the_same_values_in_a_column_that_has_become_text(capture):
    s = Stream(columns=[*COLUMNS, {"type": "int64", "optional": True, "field": "n"}])
    for at, number in ((10, 5), (20, None)):
        s.change("u", 1, at, more={"n": number})
    run(capture, 1, s.records)
    capture.rules = lambda _: TableRules(columns=(("n", "string"),))
    receipt = only(
        work_off(ordered(capture, 2, Work.REPLAY, Rebuild(versions(capture)), s.records))
    )
    assert (receipt.did["equal"], receipt.did["different"]) == (2, 0)


def test_a_swap_takes_the_place_and_is_gone_on_from_and_can_be_taken_back(capture):
    s = late(capture)
    order = Rebuild(versions(capture), swap=True)
    swapped = only(work_off(ordered(capture, 2, Work.REPLAY, order, s.records)))
    assert names(capture) == ["A", "A", "B"]
    assert (swapped.changed, swapped.counts.history_rows) == (True, 3)
    s.change("u", 2, 30, name="C")
    run(capture, 3, s.records[3:])
    assert names(capture) == ["A", "A", "B", "C"]
    undo = only(work_off(ordered(capture, 4, Work.UNDO, Rebuild(undo=2), s.records)))
    assert names(capture) == ["A", "B"]
    assert (undo.counts.history_rows, undo.counts.current_rows) == (2, 2)
    capture.rules = lambda _: TableRules(ignore=("bio",))
    only(capture.compact(capture.manifest(5, s.records[3:])))
    assert names(capture) == ["A", "B", "C"]


def test_a_replay_puts_in_quarantine_what_it_cannot_read_in_place_of_what_was_there(capture):
    s = mended(capture)
    order = Rebuild(versions(capture), swap=True)
    only(work_off(ordered(capture, 2, Work.REPLAY, order, s.records)))
    assert names(capture) == ["A", "C", "B"]
    assert [(offset, number) for offset, _, number in refused(capture)] == [(2, 2)]
    only(work_off(ordered(capture, 3, Work.UNDO, Rebuild(undo=2), s.records)))
    assert names(capture) == ["A", "C"]
    assert [(offset, number) for offset, _, number in refused(capture)] == [(1, 3), (2, 3)]


def test_a_replay_of_records_that_landing_has_no_more_is_refused(capture):
    s = late(capture)
    opened(capture.lake.landing).delete('"offset" = 1')
    order = Rebuild(versions(capture), swap=True)
    (table,) = work_off(ordered(capture, 2, Work.REPLAY, order, s.records)).tables
    assert "landing no longer has 1 records of the table" in table.error
    assert names(capture) == ["A", "B"]


def test_a_key_whose_text_looks_like_a_parameter_is_erased(capture):
    texts = ("urn:isbn:1", "it's :run", "kept")
    s = Stream(columns=[{**COLUMNS[0], "type": "string"}, *COLUMNS[1:]])
    for at, text in enumerate(texts, 10):
        record = s.change("c", text, at, name=text)
        s.records[-1] = replace(record, key=json.dumps({"id": text}).encode())
    run(capture, 1, s.records)
    keys = [json.dumps({"id": text}, separators=(",", ":")) for text in texts[:2]]
    order = Erasure(tuple(map(digest, keys)))
    receipt = only(work_off(ordered(capture, 2, Work.ERASE, order)))
    assert (receipt.did["landing"], receipt.did["history"]) == (2, 2)
    assert names(capture) == ["kept"]


def test_a_swap_by_another_key_that_was_taken_back_loses_no_version_afterwards(capture):
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("u", 1, 20, name="A2")
    s.change("c", 2, 21, name="B")
    capture.rules = lambda _: TableRules(key=("id",))
    run(capture, 1, s.records)
    capture.rules = lambda _: TableRules(key=("name",))
    order = Rebuild(versions(capture), swap=True)
    only(work_off(ordered(capture, 2, Work.REPLAY, order, s.records)))
    only(work_off(ordered(capture, 3, Work.UNDO, Rebuild(undo=2), s.records)))
    capture.rules = lambda _: TableRules(key=("id",))
    s.change("u", 1, 30, name="A3")
    run(capture, 4, s.records[3:])
    assert names(capture) == ["A", "A2", "A3", "B"]


def test_a_run_that_swapped_nothing_cannot_be_taken_back(capture):
    s = late(capture)
    (table,) = work_off(ordered(capture, 2, Work.UNDO, Rebuild(undo=1), s.records)).tables
    assert "run 1 has not swapped this table" in table.error


@pytest.mark.parametrize("step", ["commit", "restore"])
def test_where_the_history_is_refused_the_next_run_goes_on_as_if_nothing_had_been_ordered(
    capture, monkeypatch, step
):
    s = late(capture)
    number, manifest = (
        2,
        ordered(capture, 2, Work.REPLAY, Rebuild(versions(capture), swap=True), s.records),
    )
    if step == "restore":
        only(work_off(manifest))
        number, manifest = 3, ordered(capture, 3, Work.UNDO, Rebuild(undo=2), s.records)
    before = names(capture)

    def refused(*_, **__):
        raise Transient("the store says 503")

    with monkeypatch.context() as broken:
        broken.setattr(history, step, refused)
        (table,) = work_off(manifest).tables
        assert "503" in table.error
    s.change("u", 2, 30, name="C")
    if step == "commit":
        capture.rules = lambda _: TableRules(ignore=("bio",))
    run(capture, number + 1, s.records[3:])
    assert names(capture) == [*before, "C"]


# ---------------------------------------------------------------------------- maintenance


def aged(capture):
    s = Stream()
    for n in range(6):
        s.change("u" if n else "c", 1, 10 + n, name=f"name {n}")
        run(capture, n + 1, s.records[-1:])
    sql = "SELECT _valid_to FROM stored WHERE name = 'name 3'"
    (row,) = rows(opened(capture.lake.history(TOPIC)), sql)
    return s, row["_valid_to"].astimezone(UTC).isoformat()


def test_versions_that_ended_before_are_forgotten_and_do_not_come_back(capture):
    s, moment = aged(capture)
    receipt = only(work_off(ordered(capture, 7, Work.MAINTAIN, Upkeep(168, history=moment))))
    assert receipt.did["versions forgotten"] == 3
    assert receipt.counts.history_rows == 3
    assert names(capture) == ["name 3", "name 4", "name 5"]
    s.change("u", 1, 20, name="name 6")
    after = run(capture, 8, s.records[-1:])
    assert names(capture) == ["name 3", "name 4", "name 5", "name 6"]
    assert after.counts.history_rows == 4
    capture.rules = lambda _: TableRules(ignore=("bio",))
    s.change("u", 1, 21, name="name 7")
    assert run(capture, 9, s.records[-1:]).counts.history_rows == 5


def on_record(capture):
    sql = 'SELECT DISTINCT "offset" FROM stored ORDER BY "offset"'
    return [row["offset"] for row in rows(opened(capture.lake.records(TOPIC)), sql)]


def test_updates_that_no_version_needs_any_more_are_forgotten(capture):
    s, moment = aged(capture)
    upkeep = Upkeep(168, history=moment, changes=moment)
    receipt = only(work_off(ordered(capture, 7, Work.MAINTAIN, upkeep)))
    assert receipt.did["changes forgotten"] == 2
    assert on_record(capture) == [0, 3, 4, 5]
    again = only(work_off(ordered(capture, 8, Work.MAINTAIN, upkeep)))
    assert again.did["changes forgotten"] == 0
    assert names(capture) == ["name 3", "name 4", "name 5"]
    capture.rules = lambda _: TableRules(ignore=("bio",))
    s.change("u", 1, 20, name="name 6")
    after = run(capture, 9, s.records[-1:])
    assert names(capture) == ["name 3", "name 4", "name 5", "name 6"]
    assert after.counts.history_rows == 4


def test_updates_stay_without_which_a_version_would_begin_elsewhere(capture):
    s = Stream()
    for n, name in enumerate(["same", "other", "same", "last"]):
        s.change("u" if n else "c", 1, 10 + n, name=name)
    run(capture, 1, s.records)
    sql = "SELECT _valid_to FROM stored WHERE name = 'same' ORDER BY _seq_from DESC"
    moment = rows(opened(capture.lake.history(TOPIC)), sql)[0]["_valid_to"].isoformat()
    upkeep = Upkeep(168, history=moment, changes=moment)
    receipt = only(work_off(ordered(capture, 2, Work.MAINTAIN, upkeep)))
    assert receipt.did == {**receipt.did, "versions forgotten": 2, "changes forgotten": 0}
    assert on_record(capture) == [0, 1, 2, 3]


def test_updates_stay_of_keys_that_moved_of_partial_images_and_of_rows_that_ended(capture):
    s = Stream()
    s.change("c", 1, 10, name="a")
    s.change("u", 1, 11, name="b")
    s.change("d", 1, 12, newkey=2)
    s.change("c", 2, 12, name="c", oldkey=1)
    s.change("u", 2, 13, name="d")
    s.change("u", 2, 14, name="e")
    s.change("c", 3, 15, name="f")
    s.change("u", 3, 16, name="g")
    s.change("d", 3, 17)
    s.change("c", 4, 18, name="h", bio="__debezium_unavailable_value")
    s.change("u", 4, 19, name="i", bio="__debezium_unavailable_value")
    s.change("u", 4, 20, name="j", bio="__debezium_unavailable_value")
    run(capture, 1, s.records)
    moment = "2100-01-01T00:00:00+00:00"
    upkeep = Upkeep(168, history=moment, changes=moment)
    receipt = only(work_off(ordered(capture, 2, Work.MAINTAIN, upkeep)))
    assert receipt.did["changes forgotten"] == 0
    assert on_record(capture) == list(range(12))


def test_many_small_files_become_few_and_the_old_ones_go(capture):
    aged(capture)
    path = Path(capture.lake.records(TOPIC))
    assert len(list(path.glob("*.parquet"))) == 6
    receipt = only(work_off(ordered(capture, 7, Work.MAINTAIN, Upkeep(0))))
    assert receipt.did["files merged"] >= 6
    only(work_off(ordered(capture, 8, Work.MAINTAIN, Upkeep(0))))
    assert len(list(path.glob("*.parquet"))) == 1


def test_a_file_that_no_commit_has_added_goes_when_it_is_old(capture):
    aged(capture)
    stores = Path(capture.lake.records(TOPIC)), Path(capture.lake.history(TOPIC)) / "_is_head=true"
    old, young = ([path / f"part-{age}.parquet" for path in stores] for age in ("old", "young"))
    for path in (*old, *young):
        path.write_bytes(b"of a task that was done twice")
    for path in old:
        os.utime(path, (time.time() - 30 * 86_400,) * 2)
    only(work_off(ordered(capture, 7, Work.MAINTAIN, Upkeep(168))))
    assert [path.exists() for path in (*old, *young)] == [False, False, True, True]


def test_the_version_that_readers_know_stays_readable(capture):
    aged(capture)
    path = capture.lake.history(TOPIC)
    known = opened(path).version()
    for number in (7, 8):
        upkeep = Upkeep(0, published={TOPIC: known})
        only(work_off(ordered(capture, number, Work.MAINTAIN, upkeep)))
    assert len(rows(opened(path, known), "SELECT * FROM stored")) == 6


# ---------------------------------------------------------------------------- deaths


def process(manifest, tmp_path, *words):
    file = tmp_path / "manifest.json"
    file.write_text(manifest.to_json())
    return subprocess.Popen(
        [sys.executable, "-m", "death", str(file), *map(str, words)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS / "alone"), str(TESTS.parent)]),
        },
        stdout=subprocess.PIPE,
        text=True,
    )


def requeue(capture):
    mended(capture)
    return ordered(capture, 2, Work.REQUEUE, Selection())


def swap(capture):
    s = mended(capture)
    return ordered(capture, 2, Work.REPLAY, Rebuild(versions(capture), swap=True), s.records)


def undo(capture):
    s = mended(capture)
    only(
        work_off(ordered(capture, 2, Work.REPLAY, Rebuild(versions(capture), swap=True), s.records))
    )
    return ordered(capture, 3, Work.UNDO, Rebuild(undo=2), s.records)


def maintain(capture):
    _, moment = aged(capture)
    return ordered(capture, 7, Work.MAINTAIN, Upkeep(0, history=moment))


@pytest.mark.parametrize("commit", range(4))
@pytest.mark.parametrize("order", [requeue, swap, undo, maintain])
def test_an_order_that_was_killed_at_any_commit_is_done_by_its_repetition(
    tmp_path, capture, order, commit
):
    other = CaptureLake(
        SourceLake((tmp_path / "other").as_posix(), "shop"), "postgresql", capture.moment
    )
    meant = only(work_off(order(other)))
    manifest = order(capture)
    killed = process(manifest, tmp_path, commit, "after")
    answer, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL or Receipt.from_json(answer)
    receipt = only(work_off(manifest))
    assert names(capture) == names(other)
    assert (receipt.counts, receipt.changed) == (meant.counts, meant.changed)
    if Path(other.lake.quarantine).is_dir():
        assert refused(capture) == refused(other)


def test_what_unicode_breaks_lines_at_may_be_in_the_log_of_a_history_that_is_maintained(capture):
    s = Stream()
    for key in range(3):
        s.change("c", key, 10 + key, name=f"{key}: two\u2028parts\x85of it")
        run(capture, key + 1, s.records[-1:])
    only(work_off(ordered(capture, 4, Work.MAINTAIN, Upkeep(0))))
    s.change("u", 0, 20, name="new")
    assert run(capture, 5, s.records[-1:]).counts.history_rows == 4
