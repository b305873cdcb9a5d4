"""What a run has put on record that failed on its table: nothing follows from it, ever."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest
from samples.events import EPOCH_MS, Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from strandline_spark.spread import replacement
from strandline_spark.work import done

from strandline.alone.stores import history
from strandline.changes.rules import Epoch, TableRules
from strandline.engine import recorded_at
from strandline.errors import Transient
from strandline.law import interpret
from strandline.runs.lake import SourceLake

TOPIC = "shop.public.item"


@pytest.fixture
def capture(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", recorded_at([Stream().change("c", 1, 1)]), session=spark)


@contextmanager
def failing(monkeypatch):
    """Runs in which a history cannot be written; all before it is on record."""

    def fails(*_, **__):
        raise Transient("no space left on the device")

    with monkeypatch.context() as broken:
        broken.setattr(replacement, "commit", fails)
        broken.setattr(history, "begin", fails)
        yield


def run(capture, number, records):
    (table,) = done(capture.session, capture.manifest(number, records)).tables
    return table


def versions(capture):
    rows = delta.read(capture.session, capture.lake.history(TOPIC)).orderBy("_key", "_seq_from")
    return [(row["_key"], row["name"], row["_closed_by"]) for row in rows.collect()]


def expected(records):
    (table,) = (each for each in interpret(records).tables if each.topic == TOPIC)
    return [(v.key, v.row["name"], v.closed_by and v.closed_by.value) for v in table.versions]


def stored(capture, store="records"):
    path = capture.lake.records(TOPIC) if store == "records" else capture.lake.quarantine
    return sorted(row["run"] for row in delta.read(capture.session, path).collect())


@pytest.mark.heavy
@pytest.mark.parametrize("first", [True, False])
def test_records_that_a_failed_run_has_entered_go_when_its_successor_enters_them(
    capture, monkeypatch, first
):
    s = Stream()
    if not first:
        capture.land([s.change("c", 1, 10, name="A")])
        run(capture, 1, s.records)
    known = list(s.records)
    news = [s.change("c", 2, 20, name="B"), s.change("u", 2, 30, name="C")]
    capture.land(news)
    with failing(monkeypatch):
        assert run(capture, 2, news).error is not None
    caught_up = run(capture, 3, news)
    assert (caught_up.counts.changes, caught_up.counts.duplicates) == (2, 0)
    assert stored(capture) == [1] * len(known) + [3, 3]
    assert versions(capture) == expected(s.records)


def test_a_successor_that_dies_before_its_history_enters_them_once_when_it_is_run_again(
    capture, monkeypatch
):
    s = Stream()
    news = [s.change("c", 1, 10, name="A"), s.change("u", 1, 20, name="B")]
    capture.land(news)
    with failing(monkeypatch):
        run(capture, 1, news)
        run(capture, 2, news)
    assert run(capture, 2, news).counts.changes == 2
    assert stored(capture) == [2, 2]
    assert versions(capture) == expected(news)


@pytest.mark.heavy
def test_an_epoch_that_was_declared_for_a_held_table_holds_however_often_its_record_comes(capture):
    s = Stream()
    old = [s.change("c", 1, 10, name="A"), s.change("u", 1, 30, name="B")]
    new = s.change("u", 1, 5, name="C")
    rules = TableRules(hold_regress=True)
    held = replace(capture, rules=lambda _: rules)
    capture.land([*old, new])
    assert run(held, 1, old).error is None
    assert "goes back to position" in run(held, 2, [new]).error
    declared = replace(rules, epochs=(Epoch(1, since=new.timestamp),))
    mended = replace(capture, rules=lambda _: declared)
    assert run(mended, 3, [new]).error is None
    s.again(new)
    capture.land(s.records[-1:])
    again = run(mended, 4, s.records[-1:])
    assert (again.error, again.counts.duplicates) == (None, 1)
    assert [name for _, name, _ in versions(capture)] == ["A", "B", "C"]


@pytest.mark.heavy
def test_records_that_a_failed_run_put_into_quarantine_are_there_once(capture, monkeypatch):
    s = Stream()
    news = [s.change("c", 1, 10, name="A"), s.add(s.key(2), b"{")]
    capture.land(news)
    with failing(monkeypatch):
        run(capture, 1, news)
    assert stored(capture, "quarantine") == [1]
    run(capture, 2, news)
    assert stored(capture, "quarantine") == [2]


@pytest.mark.heavy
def test_what_an_applied_run_put_into_quarantine_stays(capture):
    s = Stream()
    first = [s.add(s.key(1), b"{"), s.change("c", 1, 10, name="A")]
    news = [s.add(s.key(2), b"{")]
    capture.land([*first, *news])
    for number, batch in enumerate([first, news, [s.change("c", 3, 30, name="B")]], 1):
        capture.land(batch[: number // 3])
        run(capture, number, batch)
    assert stored(capture, "quarantine") == [1, 2]


@pytest.mark.heavy
def test_a_failed_run_s_records_are_looked_for_only_where_the_log_has_them(capture, monkeypatch):
    s = Stream()
    capture.land([s.change("c", 1, 10, name="A"), s.change("u", 1, 20, name="B")])
    run(capture, 1, s.records[:1])
    monkeypatch.setattr(delta, "delete", lambda *_: 1 / 0)
    assert run(capture, 2, s.records[1:]).error is None


def notice(stream, kind):
    told = {
        "id": "n",
        "aggregate_type": "Initial Snapshot",
        "type": kind,
        "additional_data": {"connector_name": "shop"},
        "timestamp": EPOCH_MS,
    }
    return stream.add(None, json.dumps(told).encode())


@pytest.mark.heavy
@pytest.mark.parametrize("more", [True, False])
def test_a_snapshot_that_was_completed_in_a_run_that_failed_ends_rows_in_the_next(
    capture, monkeypatch, more
):
    s, notices = Stream(), Stream(topic="shop.notices")
    first = [s.change("c", 1, 10, name="A"), s.change("c", 2, 20, name="gone")]
    began = notice(notices, "STARTED")
    read = s.change("r", 1, 50, name="A")
    completed = notice(notices, "COMPLETED")
    news = [s.change("c", 3, 60, name="B")] if more else []
    capture.land([*first, began, read, completed, *news])
    run(capture, 1, first)
    run(capture, 2, [began, read])
    with failing(monkeypatch):
        assert run(capture, 3, [completed]).error is not None
    visited = replace(
        capture.manifest(4, news), tables=capture.manifest(4, [*news, completed]).tables
    )
    (table,) = done(capture.session, visited).tables
    assert table.error is None
    assert versions(capture) == expected([*first, began, read, completed, *news])
