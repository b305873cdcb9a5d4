"""Large tables: which keys go on from their last versions, and which are made from records."""

import pytest
from samples.events import Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from strandline_spark.spread import groups, replacement
from strandline_spark.spread.parts import Parts

from strandline.engine import recorded_at
from strandline.law import interpret
from strandline.runs.lake import SourceLake


@pytest.fixture
def capture(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", recorded_at([Stream().change("c", 1, 1)]), session=spark)


@pytest.fixture
def folded(monkeypatch):
    """The names of the keys that a run has derived, for each time that it had to."""
    found = []
    fold = Parts._folded  # noqa: SLF001

    def seen(self, now, before, joins, extent):
        keys = self.keys
        found.append(None if keys is None else {row["name"] for row in keys.names.collect()})
        return fold(self, now, before, joins, extent)

    monkeypatch.setattr(Parts, "_folded", seen)
    return found


def run(capture, number, records):
    capture.land(records)
    (table,) = capture.compact(capture.manifest(number, records)).tables
    assert table.error is None
    return table


def versions(capture, topic):
    rows = delta.read(capture.session, capture.lake.history(topic)).orderBy("_key", "_seq_from")
    return [(row["_key"], row["name"], row["_closed_by"]) for row in rows.collect()]


def expected(records):
    (table,) = interpret(records).tables
    return [(v.key, v.row["name"], v.closed_by and v.closed_by.value) for v in table.versions]


def test_what_is_newer_than_all_that_its_key_has_seen_needs_no_record_of_before(capture, folded):
    s = Stream()
    run(capture, 1, [s.change("c", key, 10 + key, name="A") for key in range(4)])
    news = [s.change("u", 1, 50, name="B"), s.change("d", 2, 60), s.add(s.key(2), None)]
    news += [s.change("c", 9, 70, name="N"), s.change("u", 1, 80, name="B")]
    table = run(capture, 2, news)
    assert folded == []
    assert versions(capture, s.topic) == expected(s.records)
    assert (table.counts.changes, table.counts.control) == (4, 1)
    assert (table.counts.rows_written, table.counts.rows_closed) == (4, 2)
    assert (table.counts.history_rows, table.counts.current_rows) == (6, 4)


@pytest.mark.heavy
def test_rows_closed_are_the_versions_that_a_run_gave_an_end(capture):
    s = Stream()
    first = [s.change("c", 1, 1, name="a"), s.change("u", 1, 2, name="b"), s.change("d", 1, 3)]
    first.append(s.change("c", 2, 4, name="a"))
    made = run(capture, 1, first).counts
    assert (made.rows_written, made.rows_closed) == (3, 2)
    made = run(capture, 2, [s.change("u", 2, 5, name="b"), s.change("u", 2, 7, name="d")]).counts
    assert (made.rows_written, made.rows_closed) == (3, 2)
    made = run(capture, 3, [s.change("u", 2, 6, name="c")]).counts
    assert (made.rows_written, made.rows_closed) == (2, 1)


@pytest.mark.parametrize("listed", [0, pytest.param(1_000, marks=pytest.mark.heavy)])
def test_a_key_with_a_late_change_is_made_from_its_records_and_no_other_is(
    capture, folded, monkeypatch, listed
):
    for module in (groups, replacement):  # keys are joined, or looked for by name
        monkeypatch.setattr(module, "LISTED", listed)
    s = Stream()
    run(capture, 1, [s.change("c", key, 10 + key, name="A") for key in range(4)])
    run(capture, 2, [s.change("u", 1, 50, name="C"), s.change("u", 2, 60, name="C")])
    run(capture, 3, [s.change("u", 1, 30, name="B"), s.change("u", 2, 70, name="D")])
    assert folded == [{'{"id":1}'}]
    assert versions(capture, s.topic) == expected(s.records)


def test_a_truncate_ends_all_rows_that_stand_without_a_record_of_theirs(capture, folded):
    s = Stream()
    run(capture, 1, [s.change("c", key, 10 + key, name="A") for key in range(4)])
    table = run(capture, 2, [s.truncate(50), s.change("c", 1, 60, name="B")])
    assert folded == []
    assert versions(capture, s.topic) == expected(s.records)
    assert table.counts.current_rows == 1


@pytest.mark.heavy
def test_a_delete_of_a_row_that_was_never_seen_is_remembered(capture):
    s = Stream()
    run(capture, 1, [s.change("c", 1, 10, name="A"), s.change("d", 2, 50)])
    run(capture, 2, [s.change("c", 2, 30, name="late")])
    assert versions(capture, s.topic) == expected(s.records)


@pytest.mark.heavy
def test_a_run_that_changes_no_version_says_so_though_its_keys_have_seen_more(capture):
    s = Stream()
    run(capture, 1, [s.change("c", 1, 10, name="A")])
    table = run(capture, 2, [s.change("u", 1, 50, name="A")])
    assert (table.changed, table.counts.rows_written, table.counts.changes) == (False, 0, 1)
    run(capture, 3, [s.change("u", 1, 30, name="late")])
    assert versions(capture, s.topic) == expected(s.records)


@pytest.mark.heavy
def test_a_commit_that_fails_leaves_the_history_and_the_next_attempt_does_the_rest(
    capture, monkeypatch
):
    s = Stream()
    run(capture, 1, [s.change("c", 1, 10, name="A")])
    news = [s.change("u", 1, 50, name="B"), s.change("u", 1, 30, name="late")]
    capture.land(news)
    with monkeypatch.context() as dying:
        dying.setattr(replacement, "commit", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            capture.compact(capture.manifest(2, news))
    (table,) = capture.compact(capture.manifest(2, news)).tables
    assert (table.error, table.counts.changes) == (None, 2)
    assert versions(capture, s.topic) == expected(s.records)
