"""A table that goes alone against its source's rows: what is found, and what is set right."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyarrow import parquet
from samples.events import Stream
from stages.alone_stage import only, run

from strandline.alone.stores import history
from strandline.alone.stores.tables import opened, rows
from strandline.alone.work import work_off
from strandline.changes.rules import TableRules
from strandline.errors import Transient
from strandline.runs.erasure import Erasure, digest
from strandline.runs.manifest import Work
from strandline.runs.rebuild import STORES, Rebuild
from strandline.runs.receipt import Receipt
from strandline.runs.reconciliation import Reconciliation
from strandline.runs.upkeep import Upkeep

TOPIC = Stream().topic
TESTS = Path(__file__).parents[1]
NOW = "2026-11-01T00:00:00+00:00"
ROWS = [
    {"id": 1, "name": "ada", "bio": None},
    {"id": 2, "name": "bob, \"the\" 'one'", "bio": "x"},
    {"id": 4, "name": "new", "bio": None},
]
DID = {"equal": 1, "different": 1, "not in the source": 1, "not in the history": 1}


def failed(receipt):
    (table,) = receipt.tables
    assert table.error is not None
    return table.error


def ordered(capture, number, work, order, records=()):
    """A manifest of an order for the table; `records` are all that is applied."""
    manifest = capture.manifest(number, [Stream().change("c", 1, 1)])
    cut = replace(manifest.tables[0], ranges=())
    if records:
        (cut,) = capture.manifest(number, records).tables
    return replace(manifest, work=work, order=asdict(order), tables=(cut,))


def reconciled(capture, number, of, snapshot="json", **options):
    """The manifest of a reconciliation with these rows, or with a snapshot at a path."""
    path = of
    if not isinstance(of, Path):
        path = Path(capture.lake.root).parent / f"rows of {number}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in of))
    order = Reconciliation(path.as_posix(), snapshot, **{"as_of": NOW, **options})
    return ordered(capture, number, Work.RECONCILE, order)


def story(capture):
    sql = "SELECT id, name, _closed_by FROM stored ORDER BY _key, _seq_from"
    return [tuple(row.values()) for row in rows(opened(capture.lake.history(TOPIC)), sql)]


def listed(capture):
    sql = "SELECT key, kind, columns, changed_since, run FROM stored ORDER BY run, key"
    return [tuple(row.values()) for row in rows(opened(capture.lake.differences), sql)]


@pytest.fixture
def stream(capture):
    """A history with three rows, of which the source has one as it is."""
    s = Stream()
    s.change("c", 1, 10, name="ada")
    s.change("c", 2, 20, name="eve", bio="x")
    s.change("c", 3, 30, name="gone")
    run(capture, 1, s.records)
    return s


# ---------------------------------------------------------------------------- what is found


@pytest.mark.usefixtures("stream")
def test_every_difference_is_listed_once_with_its_columns(capture):
    manifest = reconciled(capture, 2, ROWS)
    first, again = only(work_off(manifest)), only(work_off(manifest))
    assert first.did == again.did == DID
    assert (first.changed, first.counts.history_rows) == (False, 3)
    assert listed(capture) == [
        ('{"id":2}', "different", ["name"], False, 2),
        ('{"id":3}', "not in the source", None, False, 2),
        ('{"id":4}', "not in the history", None, False, 2),
    ]


def test_what_the_stream_never_has_is_no_difference_and_is_not_corrected(capture):
    capture.rules = lambda _: TableRules(never_streamed=("bio",))
    s = Stream()
    s.change("c", 1, 10, name="ada")
    run(capture, 1, s.records)
    source = [{"id": 1, "name": "ada", "bio": "x"}]
    assert only(work_off(reconciled(capture, 2, source))).did == {"equal": 1}
    source[0]["name"] = "eve"
    assert only(work_off(reconciled(capture, 3, source, correct=True))).did == {"different": 1}
    sql = "SELECT name, bio, _unavailable FROM stored WHERE _is_current"
    (row,) = rows(opened(capture.lake.history(TOPIC)), sql)
    assert tuple(row.values()) == ("eve", None, ["bio"])


def test_only_a_newline_ends_a_row_of_json_whatever_else_unicode_breaks_lines_at(capture):
    s = Stream()
    s.change("c", 1, 10, name="two\u2028parts\x85of it")
    run(capture, 1, s.records)
    path = Path(capture.lake.root).parent / "rows.jsonl"
    path.write_text(
        '{"id": 1, "name": "two\u2028parts\x85of it"}\r\n', encoding="utf-8", newline=""
    )
    assert only(work_off(reconciled(capture, 2, path))).did == {"equal": 1}


def written_as_csv(path):
    path = path / "rows.csv"
    path.write_text('id,name,bio\n1,ada,\\N\n2,"bob, ""the"" \'one\'",x\n4,new,\\N\n')
    return path, "csv"


def written_as_parquet(path):
    path = path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist(ROWS), path)
    return path, "parquet"


def written_as_a_folder(path):
    path = path / "rows.parquet"
    path.mkdir()
    (path / "_SUCCESS").touch()
    for n, row in enumerate(ROWS):
        parquet.write_table(pa.Table.from_pylist([row]), path / f"part-{n}.parquet")
    return path, "parquet"


def written_as_texts_in_delta(path):
    path = path / "rows"
    texts = [{name: cell and str(cell) for name, cell in row.items()} for row in ROWS]
    schema = pa.schema([(name, pa.string()) for name in ROWS[0]])
    write_deltalake(path.as_posix(), pa.Table.from_pylist(texts, schema=schema))
    return path, "delta"


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize(
    "written",
    [written_as_csv, written_as_parquet, written_as_a_folder, written_as_texts_in_delta],
)
def test_a_snapshot_may_be_written_in_any_format(capture, tmp_path, written):
    folder = tmp_path / "snapshots"
    folder.mkdir()
    path, snapshot = written(folder)
    receipt = only(work_off(reconciled(capture, 2, path, snapshot, null="\\N")))
    assert receipt.did == DID


def test_what_is_empty_in_a_csv_file_is_null_and_in_quotes_an_empty_text(capture, tmp_path):
    s = Stream()
    for key, bio in enumerate([None, "", None]):
        s.change("c", key, 10 + key, name="a", bio=bio)
    run(capture, 1, s.records)
    path = tmp_path / "rows.csv"
    path.write_text('id,name,bio\n0,a,\n1,a,""\n2,a,NULL\n')
    receipt = only(work_off(reconciled(capture, 2, path, "csv", null="NULL")))
    assert receipt.did == {"equal": 3}


@pytest.mark.usefixtures("stream")
def test_what_changed_after_the_moment_is_told_apart_and_never_corrected(capture):
    before = story(capture)
    long_ago = "1999-01-01T00:00:00+00:00"
    receipt = only(work_off(reconciled(capture, 2, ROWS[:2], as_of=long_ago, correct=True)))
    assert receipt.did == {"not in the history": 2}
    assert [since for *_, since, _ in listed(capture)] == [True, True]
    assert story(capture) == before


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize(
    ("rows_of", "says"),
    [
        ([{"name": "ada"}], "has no column 'id', which is of its key; it has name"),
        ([{"id": 1}, {"id": 1}], "has 1 keys more than once"),
        ([{"id": None, "name": "ada"}], "1 rows without a value in a column of its key"),
        ([{"id": "one"}, {"id": 2}], "1 cells in column 'id' that are no int"),
    ],
)
def test_a_snapshot_that_cannot_be_compared_says_what_is_wrong(capture, rows_of, says):
    assert says in failed(work_off(reconciled(capture, 2, rows_of)))


@pytest.mark.usefixtures("stream")
def test_a_file_that_is_none_of_its_format_is_named(capture, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1}\n[]\n')
    assert "rows.jsonl): line 2 is no object" in failed(work_off(reconciled(capture, 2, path)))
    path = tmp_path / "rows.csv"
    path.write_text("id,name\n1\n")
    assert "Expected 2 columns, got 1" in failed(work_off(reconciled(capture, 3, path, "csv")))


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize("name", ["nowhere.csv", "*.csv"])
def test_a_snapshot_that_is_not_found_alone_is_named(capture, tmp_path, name):
    error = failed(work_off(reconciled(capture, 2, tmp_path / name, "csv")))
    assert f"the snapshot {tmp_path.as_posix()}/{name}" in error


# ---------------------------------------------------------------------------- what is set right

CORRECTED = [
    (1, "ada", None),
    (2, "eve", "snapshot_correction"),
    (2, "bob", None),
    (3, "gone", "snapshot_absent"),
    (4, "new", None),
]
GIVEN = [{"id": 1, "name": "ada"}, {"id": 2, "name": "bob"}, {"id": 4, "name": "new"}]


@pytest.fixture
def corrected(capture, stream):
    """The stream, and the receipt of a correction by a snapshot without the column `bio`."""
    return stream, only(work_off(reconciled(capture, 2, GIVEN, correct=True)))


def test_the_history_says_what_the_source_does_and_keeps_what_was_not_compared(capture, corrected):
    _, receipt = corrected
    assert story(capture) == CORRECTED
    assert receipt.did == DID
    assert receipt.counts.conserved
    assert (receipt.counts.history_rows, receipt.counts.current_rows) == (5, 3)
    sql = "SELECT name, bio, _valid_from, _topic, _offset, _position, _ts_quality FROM stored"
    found = {row.pop("name"): row for row in rows(opened(capture.lake.history(TOPIC)), sql)}
    moment = found["bob"].pop("_valid_from")
    assert moment.isoformat() == NOW
    assert tuple(found["bob"].values()) == (
        "x", "reconciliation", 2, "reconciliation of run 2", "snapshot"
    )  # fmt: skip
    assert found["new"]["bio"] is None


@pytest.mark.usefixtures("corrected")
def test_a_corrected_table_is_as_its_source(capture):
    receipt = only(work_off(reconciled(capture, 3, GIVEN, correct=True)))
    assert (receipt.did, receipt.changed) == ({"equal": 3}, False)


def test_what_the_source_sends_later_goes_on_from_the_correction(capture, corrected):
    s, _ = corrected
    s.change("u", 2, 60, name="max", bio="y")
    s.change("d", 4, 70)
    s.change("u", 1, 80, name="ada l.")
    run(capture, 3, s.records[3:])
    assert story(capture) == [
        (1, "ada", "update"),
        (1, "ada l.", None),
        (2, "eve", "snapshot_correction"),
        (2, "bob", "update"),
        (2, "max", None),
        (3, "gone", "snapshot_absent"),
        (4, "new", "delete"),
    ]


def test_a_record_that_comes_late_goes_before_the_correction(capture, corrected):
    stream, _ = corrected
    stream.change("u", 2, 15, name="eva", bio="x", partition=1)
    run(capture, 3, stream.records[3:])
    assert [name for _, name, _ in story(capture)] == ["ada", "eva", "eve", "bob", "gone", "new"]


@pytest.mark.usefixtures("corrected")
def test_a_correction_of_a_correction_stands_behind_it(capture):
    given = [{"id": 1, "name": "ada"}, {"id": 2, "name": "rob"}, {"id": 4, "name": "new"}]
    later = "2026-11-02T00:00:00+00:00"
    only(work_off(reconciled(capture, 3, given, as_of=later, correct=True)))
    assert [each for each in story(capture) if each[0] == 2] == [
        (2, "eve", "snapshot_correction"),
        (2, "bob", "snapshot_correction"),
        (2, "rob", None),
    ]


def test_a_replay_keeps_the_corrections(capture, corrected):
    stream, _ = corrected
    paths = {name: getattr(capture.lake, name) for name in STORES}
    stores = {name: opened(p if isinstance(p, str) else p(TOPIC)) for name, p in paths.items()}
    before = {TOPIC: {name: -1 if t is None else t.version() for name, t in stores.items()}}
    order = Rebuild(before, swap=True)
    receipt = only(work_off(ordered(capture, 3, Work.REPLAY, order, stream.records)))
    assert receipt.did["equal"] == len(CORRECTED)
    assert story(capture) == CORRECTED
    stream.change("u", 2, 60, name="max", bio="y")
    run(capture, 4, stream.records[3:])
    assert (2, "bob", "update") in story(capture)


@pytest.mark.usefixtures("corrected")
def test_an_erasure_takes_corrections_along(capture):
    order = Erasure((digest('{"id":2}'),))
    only(work_off(ordered(capture, 3, Work.ERASE, order)))
    assert [each for each in story(capture) if each[0] == 2] == []
    files = Path(capture.lake.home).rglob("*")
    assert not [path for path in files if path.is_file() and b"bob" in path.read_bytes()]


def nothing(_):
    """What is ordered between: here it is nothing."""


def an_erasure(capture):
    only(work_off(ordered(capture, 3, Work.ERASE, Erasure((digest('{"id":3}'),)))))


def upkeep(capture):
    order = Upkeep(168, history="2100-01-01T00:00:00+00:00")
    only(work_off(ordered(capture, 3, Work.MAINTAIN, order)))


@pytest.mark.parametrize("between", [nothing, an_erasure, upkeep])
def test_what_a_run_that_failed_was_to_correct_does_not_count_afterwards(
    capture, stream, monkeypatch, between
):
    def refused(*_, **__):
        raise Transient("the store says 503")

    with monkeypatch.context() as broken:
        broken.setattr(history, "commit", refused)
        assert "503" in failed(work_off(reconciled(capture, 2, GIVEN, correct=True)))
    between(capture)
    for number, at in ((4, 60), (5, 70)):
        stream.change("u", 2, at, name=f"eve {number}", bio="x")
        run(capture, number, stream.records[-1:])
    assert [name for key, name, _ in story(capture) if key == 2] == ["eve", "eve 4", "eve 5"]
    assert (4, "new", None) not in story(capture)


@pytest.mark.usefixtures("stream")
@pytest.mark.parametrize("commit", range(4))
def test_a_correction_that_was_killed_at_any_commit_is_done_by_its_repetition(
    capture, tmp_path, commit
):
    manifest = reconciled(capture, 2, GIVEN, correct=True)
    file = tmp_path / "manifest.json"
    file.write_text(manifest.to_json())
    killed = subprocess.Popen(
        [sys.executable, "-m", "death", str(file), str(commit), "after"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS / "alone"), str(TESTS.parent)]),
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    answer, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL or Receipt.from_json(answer)
    receipt = only(work_off(manifest))
    assert story(capture) == CORRECTED
    assert (receipt.did, receipt.changed) == (DID, True)
    assert len(listed(capture)) == 3


@pytest.mark.usefixtures("stream")
def test_a_repetition_corrects_by_what_the_first_attempt_put_on_record(capture, monkeypatch):
    def refused(*_, **__):
        raise Transient("the store says 503")

    manifest = reconciled(capture, 2, GIVEN, correct=True)
    with monkeypatch.context() as broken:
        broken.setattr(history, "commit", refused)
        failed(work_off(manifest))
    reconciled(capture, 2, [{**row, "name": "other"} for row in GIVEN])  # into the same file
    only(work_off(manifest))
    assert story(capture) == CORRECTED


def test_every_type_of_a_column_is_compared_and_corrected_by_its_value(capture):
    cells = {
        "flag": ({"type": "boolean"}, True, "false"),
        "small": ({"type": "int16"}, 1, "-7"),
        "long": ({"type": "int64"}, 1, "9007199254740993"),
        "real": ({"type": "float"}, 0.1, "0.2"),
        "wide": ({"type": "double"}, 0.1, "1e300"),
        "data": ({"type": "bytes"}, "AQI=", "AwQ="),
        "day": ({"type": "int32", "name": "io.debezium.time.Date"}, 1, "2026-01-02"),
        "local": (
            {"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, 1, "2026-01-02 03:04:05"
        ),
        "at": (
            {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
            "2026-01-02T03:04:05Z", "2026-01-02 03:04:05.5+01",
        ),
        "price": (
            {
                "type": "bytes",
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "2", "connect.decimal.precision": "10"},
            },
            "AQ==", "12.345",
        ),
    }  # fmt: skip
    columns = [{"field": "id", "type": "int32", "optional": False}]
    columns += [{"field": name, "optional": True, **of} for name, (of, _, _) in cells.items()]
    s = Stream(columns=columns)
    s.change("c", 1, 10, more={name: sent for name, (_, sent, _) in cells.items()})
    run(capture, 1, s.records)
    given = [{"id": "1", **{name: cell for name, (*_, cell) in cells.items()}}]
    receipt = only(work_off(reconciled(capture, 2, given, correct=True)))
    assert receipt.did == {"different": 1}
    assert [columns for _, _, columns, _, _ in listed(capture)] == [list(cells)]
    assert only(work_off(reconciled(capture, 3, given))).did == {"equal": 1}
