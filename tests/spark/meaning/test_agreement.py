"""Two engines, one history: Spark prints what the law prints, in any batching."""

import json
import random
from dataclasses import replace

import pytest
from cases.language import cases
from samples.events import COLUMNS, Stream, key_schema
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from strandline_spark.engine import spark as spark_engine
from strandline_spark.work import done

from strandline import engine
from strandline.cells import rendering
from strandline.changes.rules import Epoch, TableRules
from strandline.law import interpret
from strandline.runs.lake import SourceLake

GONE = "__debezium_unavailable_value"


def rows() -> Stream:
    """Every rule that needs no truncate, a few keys each, over two partitions."""
    s = Stream(topic="shop.public.rows")
    s.change("r", 1, 5, name="A", bio="long")
    s.change("r", 2, 5, name="B", bio="other", partition=1)
    s.change("u", 1, 10, name="A2", bio=GONE)
    s.change("u", 1, 11, name="A2", bio=GONE)
    s.change("u", 3, 12, name="late", bio=GONE, partition=1)
    again = [
        s.change("d", 1, 20, newkey=9),
        s.add(s.key(1), None, headers=[("__debezium.newkey", b'{"id":9}')]),
        s.change("c", 9, 20, name="A2", bio=GONE, oldkey=1, partition=1),
        s.change("c", 4, 22, name="x"),
        s.change("d", 4, 23),
        s.tombstone(4),
        s.change("c", 4, 24, name="y"),
    ]
    s.again(*again)
    s.change("u", 9, 30, name="A3", bio=GONE, partition=1)
    s.change("d", 9, 31, newkey=1, partition=1)
    s.change("c", 1, 31, name="A3", bio=GONE, oldkey=9)
    s.change("c", 2, 40, name="B", partition=1)
    s.change("d", 7, 50)
    s.change("c", 7, 45, name="older, later", partition=1)
    s.change("u", 2, 33, name="in between")
    s.change("r", 4, 60, name="corrected")
    s.tombstone(4)
    s.add(s.key(5), b"nonsense")
    s.add(None, s.value({"op": "c", "after": {"id": 5}, "source": s.source(70, "false")}))
    s.add(s.key(5), s.value({"op": "x", "after": None, "source": s.source(70, "false")}))
    s.add(s.key(5), s.value({"op": "c", "after": None, "source": s.source(70, "false")}))
    s.add(s.key(5), b"null")
    return s


def truncated() -> Stream:
    """Truncates with rows before, between and after, some of which land late."""
    s = Stream(topic="shop.public.truncated")
    s.change("c", 1, 10, name="A")
    s.change("u", 1, 30, name="B")
    s.change("c", 2, 12, name="C", partition=1)
    s.truncate(20, partition=2)
    s.change("c", 3, 15, name="X", partition=1)
    s.change("u", 3, 18, name="Y", partition=1)
    s.change("c", 3, 25, name="Z", partition=1)
    s.truncate(20, partition=1)
    s.truncate(40)
    s.change("c", 1, 41, name="N")
    s.change("d", 2, 42, partition=1)
    return s


class Texts(Stream):
    """Rows whose keys are texts."""

    def key(self, key):
        return json.dumps({"schema": key_schema("string"), "payload": {"id": key}}).encode()


def lines() -> Stream:
    """A move from a key with a line feed, which the header's converter leaves as it is."""
    s = Texts(topic="shop.public.notes", columns=[{**COLUMNS[0], "type": "string"}, *COLUMNS[1:]])
    s.change("c", "a\nb", 10, name="A", bio="long")
    s.change("d", "a\nb", 20, newkey="x")
    arrived = s.change("c", "x", 20, name="A", bio=GONE)
    headers = (("__debezium.oldkey", b'{"id":"a\nb"}'),)
    s.records[-1] = replace(arrived, headers=headers)
    return s


def of_other_connectors():
    """Rows of two other connectors, whose types only DDL tells: one without a source file."""
    wanted = {"oracle", "tencent"}
    found = {}
    for case in cases():
        has_ddl = any(b"tableChanges" in (record.value or b"") for record in case.records)
        if case.connector in wanted and has_ddl and not (case.quarantined or case.stops):
            found.setdefault(case.connector, case.records)
    return [record for connector in sorted(wanted) for record in found[connector]]


def shuffled(records, seed):
    """The partitions interleaved in another way, each in its own order."""
    chance = random.Random(seed)  # noqa: S311 - a shuffle that repeats
    places = {}
    for record in records:
        places.setdefault((record.at.topic, record.at.partition), []).append(record)
    queues = [list(reversed(found)) for found in places.values()]
    while any(queues):
        yield chance.choice([queue for queue in queues if queue]).pop()


def printed(run, records, batches):
    outcome = run(records, batches=batches, source=None)
    return (
        [rendering.line(topic, cells) for topic, cells in outcome.rows],
        [(each.at, each.reason) for each in outcome.quarantined],
        (outcome.counts.landed, outcome.counts.quarantined, outcome.counts.conserved),
    )


@pytest.mark.heavy
@pytest.mark.parametrize(("batches", "seed"), [(1, 0), (4, 1)])
@pytest.mark.usefixtures("spark")
def test_both_engines_print_the_same_history_in_any_batching_and_arrival(batches, seed):
    every = [*rows().records, *truncated().records, *lines().records, *of_other_connectors()]
    records = list(shuffled(every, seed))
    assert printed(spark_engine, records, batches) == printed(engine.python, records, 1)


@pytest.mark.heavy
def test_a_run_that_is_repeated_changes_nothing_and_says_the_same(spark, tmp_path):
    records = truncated().records
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(records), session=spark)
    first, second = engine.cut(records, 2)
    for number, batch in enumerate((first, second), 1):
        capture.land(batch)
        manifest = capture.manifest(number, batch)
        before = done(spark, manifest)
        versions = [delta.version(spark, path) for path in paths(lake)]
        after = done(spark, manifest)
        assert [delta.version(spark, path) for path in paths(lake)] == versions
        assert [table.counts for table in after.tables] == [table.counts for table in before.tables]
    stale = done(spark, capture.manifest(1, first))
    assert stale.tables[0].error is None
    assert [delta.version(spark, path) for path in paths(lake)] == versions


@pytest.mark.heavy
def test_a_run_of_nothing_but_second_deliveries_writes_no_version(spark, tmp_path):
    s = Stream(topic="shop.public.again")
    s.change("c", 1, 10, name="A")
    last = [s.change("d", 1, 20), s.tombstone(1), s.change("c", 1, 30, name="B")]
    s.change("d", 2, 31)
    batches = [list(s.records)]
    s.again(*last[:2])
    batches.append(s.records[len(batches[0]) :])
    s.again(last[2])
    s.change("u", 1, 40, name="C")
    batches.append(s.records[-2:])
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(s.records), session=spark)
    found = []
    for (table,) in (receipt.tables for receipt in capture.runs(batches)):
        history = delta.read(spark, lake.history(s.topic)).drop("_seq_seen").orderBy("_seq_from")
        told = table.changed, table.counts.rows_written, table.counts.duplicates
        found.append((*told, history.collect()))
    assert [each[:3] for each in found] == [(True, 2, 0), (False, 0, 1), (True, 2, 1)]
    assert found[0][3] == found[1][3]
    rows = delta.read(spark, lake.history(s.topic)).orderBy("_seq_from").collect()
    assert [(row["name"], row["_closed_by"]) for row in rows] == [
        ("A", "delete"),
        ("B", "update"),
        ("C", None),
    ]


def test_spark_forgets_the_jobs_of_a_run(spark, tmp_path):
    """What it keeps of a query that has ended holds plans and snapshots until the process ends."""
    s = Stream(topic="shop.public.rows")
    s.change("c", 1, 10, name="A")
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(s.records), session=spark)
    assert [receipt.tables[0].changed for receipt in capture.runs([s.records])] == [True]
    assert list(spark._jsc.sc().dagScheduler().activeQueryToJobs()) == []  # noqa: SLF001


def paths(lake):
    table = truncated().topic
    return lake.history(table), lake.records(table), lake.quarantine


@pytest.mark.heavy
def test_a_table_that_fails_holds_no_other_and_is_caught_up_later(spark, tmp_path):
    good, bad = truncated(), rows()
    lake = SourceLake(tmp_path.as_posix(), "shop")
    records = [*good.records, *bad.records]
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(records), session=spark)
    capture.land(records)
    obstacle = tmp_path / "shop" / "tables" / bad.topic / "history"
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("a file in place of a folder")
    receipts = {table.topic: table for table in done(spark, capture.manifest(1, records)).tables}
    assert receipts[good.topic].error is None
    assert receipts[bad.topic].error is not None
    obstacle.unlink()
    (caught_up,) = done(spark, capture.manifest(2, bad.records)).tables
    assert caught_up.error is None
    assert caught_up.counts.conserved
    expected = [v.cells() for v in _python(bad.records)]
    assert caught_up.counts.history_rows == len(expected)


@pytest.mark.heavy
def test_a_table_whose_positions_go_back_is_held_until_an_epoch_is_declared(spark, tmp_path):
    s = Stream(topic="shop.public.restored")
    s.change("c", 1, 10, name="A")
    s.change("u", 1, 30, name="B")
    old = list(s.records)
    s.change("u", 1, 5, name="C")
    again = s.records[len(old) :]
    rules = TableRules(hold_regress=True)
    lake = SourceLake(tmp_path.as_posix(), "shop")
    moment = engine.recorded_at(s.records)
    capture = CaptureLake(lake, "postgresql", moment, rules=lambda _: rules, session=spark)
    (first, held) = (receipt.tables[0] for receipt in capture.runs([old, again]))
    assert first.error is None
    assert "offset 2 of partition 0 goes back to position" in held.error
    epoch = Epoch(1, since=again[0].timestamp)
    declared = replace(capture, rules=lambda _: replace(rules, epochs=(epoch,)))
    (applied,) = done(spark, declared.manifest(3, again)).tables
    assert applied.error is None
    history = delta.read(spark, lake.history(s.topic)).orderBy("_seq_from").collect()
    assert [(row["name"], row["_is_current"]) for row in history] == [
        ("A", False),
        ("B", False),
        ("C", True),
    ]


def _python(records):
    from strandline.law import interpret  # noqa: PLC0415 - beside its only use

    return interpret(records).tables[0].versions


@pytest.mark.heavy
def test_a_receipt_s_totals_are_the_history_s_whoever_else_has_committed(spark, tmp_path):
    records = rows().records
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(records), session=spark)
    path = lake.history(rows().topic)
    for number, batch in enumerate(engine.cut(records, 3), 1):
        capture.land(batch)
        (table,) = done(spark, capture.manifest(number, batch)).tables
        history = delta.read(spark, path)
        rows_now, open_now = history.count(), history.where("_is_current").count()
        assert (table.counts.history_rows, table.counts.current_rows) == (rows_now, open_now)
        somebody = history.limit(0).write.format("delta").mode("append")
        somebody.option("userMetadata", "tidied up").save(path)


@pytest.mark.heavy
def test_a_table_whose_key_changes_is_held_until_a_snapshot_has_ended_the_rows_under_the_old_one(
    spark, tmp_path
):
    title = "A completed snapshot under the new key ends what stands under the old one"
    case = next(case for case in cases() if case.title.startswith(title))
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, case.connector, engine.recorded_at(case.records), session=spark)
    receipts = list(capture.runs(case.batches))
    first, held, ended, after = ([t.error for t in r.tables] for r in receipts)
    assert (first, ended, after) == ([None], [None], [None])
    assert "the key of the table changed from (id) to (id, org)" in held[0]


def test_a_header_that_breaks_a_line_inside_a_key_links_the_move():
    (table,) = interpret(lines().records).tables
    (left, came) = table.versions
    assert (left.moved_to, came.moved_from) == (came.key, left.key)
    assert came.row["bio"] == "long"
