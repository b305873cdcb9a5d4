"""Tables that go alone in one run and spread in the next, in any order, have one history."""

import json
from dataclasses import asdict, replace
from datetime import UTC

import pytest
from samples.events import Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from workloads import SOURCES
from workloads.runs import arrivals

from strandline.alone.engine import histories
from strandline.alone.stores.tables import opened, rows
from strandline.cells import rendering
from strandline.changes.rules import TableRules
from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.law import in_runs
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.rebuild import STORES, Rebuild
from strandline.runs.selection import Selection
from strandline.runs.upkeep import Upkeep
from strandline.runs.way import Way

ALTERNATING = (Way.ALONE, Way.SPREAD)


def turns(capture, batches, ways):
    """The receipts of the runs, which go these ways one after the other."""
    pending = []
    for number, batch in enumerate(batches, 1):
        capture.land(batch)
        capture.way = ways[number % len(ways)]
        receipt = capture.compact(capture.manifest(number, [*pending, *batch]))
        failed = {table.topic for table in receipt.tables if table.error is not None}
        pending = [record for record in [*pending, *batch] if record.at.topic in failed]
        yield receipt


# What is shorter than the rest here, the rest in `make spark`.
_ALONE_HERE = [Way.ALONE, pytest.param(Way.SPREAD, marks=pytest.mark.heavy)]
_HERE = {("sqlserver", 1)}
_TURNS = [
    pytest.param(source, first, marks=() if (source, first) in _HERE else pytest.mark.heavy)
    for source in SOURCES
    for first in (0, 1)
]


@pytest.mark.parametrize(("source", "first"), _TURNS)
def test_a_workload_whose_runs_go_both_ways_in_turns_has_the_law_s_history(
    spark, tmp_path, source, first
):
    ((_, batches),) = arrivals(source, [7 + first])
    batches = [batch for batch in batches if batch]
    moment = recorded_at(record for batch in batches for record in batch)
    connector = CONNECTORS[source]
    lake = SourceLake(tmp_path.as_posix(), "workload")
    capture = CaptureLake(lake, connector.names[0], moment, session=spark)
    ways = ALTERNATING[first:] + ALTERNATING[:first]
    receipts = list(turns(capture, batches, ways))
    law = in_runs(batches, connector, moment)
    meant = [rendering.line(t.topic, v.cells()) for t in law.tables for v in t.versions]
    assert [rendering.line(*row) for row in histories(lake, receipts)] == meant


@pytest.mark.heavy
@pytest.mark.parametrize(
    "ways", [ALTERNATING, pytest.param(ALTERNATING[::-1], marks=pytest.mark.heavy)]
)
def test_versions_that_are_forgotten_do_not_come_back_when_the_table_changes_its_way(
    spark, tmp_path, ways
):
    s = Stream()
    lake = SourceLake(tmp_path.as_posix(), "shop")
    moment = recorded_at([s.copy().change("c", 1, 1)])
    capture = CaptureLake(lake, "postgresql", moment, way=ways[0], session=spark)

    def run(number, records):
        capture.land(records)
        (table,) = capture.compact(capture.manifest(number, records)).tables
        assert (table.error, table.way) == (None, capture.way)
        return table

    def names():
        sql = "SELECT name, _valid_to FROM stored ORDER BY _seq_from"
        found = rows(opened(lake.history(s.topic)), sql)
        return {row["name"]: row["_valid_to"] for row in found}

    for n in range(4):
        s.change("u" if n else "c", 1, 10 + n, name=f"name {n}")
    run(1, s.records)
    until = names()["name 2"].astimezone(UTC).isoformat()
    manifest = capture.manifest(2, s.records)
    order = asdict(Upkeep(168, optimize=False, vacuum=False, history=until))
    capture.compact(replace(manifest, work=Work.MAINTAIN, order=order))
    assert list(names()) == ["name 2", "name 3"]
    for number, way in ((3, ways[1]), (4, ways[0])):
        capture.way = way
        s.change("u", 1, 10 + number + 1, name=f"name {number + 1}")
        table = run(number, s.records[-1:])
        assert list(names()) == [f"name {n}" for n in range(2, number + 2)]
        assert table.counts.history_rows == number


@pytest.mark.parametrize("way", _ALONE_HERE)
def test_a_version_that_ends_before_what_is_kept_is_forgotten_as_it_ends(spark, tmp_path, way):
    s = Stream()
    s.change("c", 1, 10, name="A")
    s.change("u", 1, 20, name="B")
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), way=way, session=spark)
    capture.land(s.records)
    applied(capture, capture.manifest(1, s.records))
    order = asdict(Upkeep(168, optimize=False, vacuum=False, history="2030-01-01T00:00:00+00:00"))
    applied(
        capture,
        replace(
            capture.manifest(2, []),
            work=Work.MAINTAIN,
            order=order,
            tables=capture.manifest(2, s.records).tables,
        ),
    )
    assert names(capture) == ["B"]
    news = [s.change("u", 1, 30, name="C"), s.change("c", 2, 40, name="D")]
    capture.land(news)
    table = applied(capture, capture.manifest(3, news))
    assert names(capture) == ["C", "D"]
    assert (table.counts.history_rows, table.counts.current_rows) == (2, 2)


TOPIC = Stream().topic


def plain(stream, number, name, **more):
    """A record without a schema, whose types only the rules tell."""
    payload = {
        "op": "c",
        "after": {"id": number, "name": name, **more},
        "source": stream.source(10 * number, "false"),
    }
    return stream.add(json.dumps({"id": number}).encode(), json.dumps(payload).encode())


def with_some_refused(spark, folder, way):
    """Two rows, of which `bio` of one is no number, and a record that nobody reads; their lake."""
    s = Stream()
    plain(s, 1, "A", bio="7")
    plain(s, 2, "B", bio="none")
    s.add(b'{"id":3}', b"no JSON")
    lake = SourceLake(folder.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), way=way, session=spark)
    return s, capture


@pytest.mark.parametrize("way", _ALONE_HERE)
def test_when_other_rules_read_records_otherwise_the_quarantine_has_those_that_cannot_be_read(
    spark, tmp_path, way
):
    s, capture = with_some_refused(spark, tmp_path, way)

    def run(number, *records, **columns):
        capture.rules = lambda _: TableRules(
            columns=(("id", "int32"), ("name", "string"), *columns.items())
        )
        capture.land(records)
        applied(capture, capture.manifest(number, records))
        found = delta.read(spark, capture.lake.quarantine).select("offset", "run")
        return names(capture), sorted(map(tuple, found.collect()))

    assert run(1, *s.records, bio="string") == (["A", "B"], [(2, 1)])
    more = [plain(s, 4, "D", bio="8")]
    assert run(2, *more, bio="int32") == (["A", "D"], [(1, 2), (2, 1)])
    more = [plain(s, 5, "E", bio="9")]
    assert run(3, *more, bio="string") == (["A", "B", "D", "E"], [(2, 1)])


@pytest.mark.parametrize("way", _ALONE_HERE)
def test_what_is_read_again_by_other_rules_and_still_refused_stays_in_quarantine(
    spark, tmp_path, way
):
    s, capture = with_some_refused(spark, tmp_path, way)
    capture.land(s.records)

    def run(number, bio, work=Work.REQUEUE):
        types = (("id", "int32"), ("name", "string"), ("bio", bio))
        capture.rules = lambda _: TableRules(columns=types)
        manifest = capture.manifest(number, s.records)
        if work is Work.REQUEUE:
            cuts = tuple(replace(cut, ranges=()) for cut in manifest.tables)
            manifest = replace(manifest, work=work, order=asdict(Selection()), tables=cuts)
        did = applied(capture, manifest).did
        found = delta.read(spark, capture.lake.quarantine).select("offset", "run")
        return names(capture), sorted(map(tuple, found.collect())), did

    assert run(1, "int32", Work.COMPACT)[:2] == (["A"], [(1, 1), (2, 1)])
    twice = {"read again": 2, "refused again": 2}
    assert run(2, "int64") == (["A"], [(1, 2), (2, 2)], twice)
    assert run(3, "string")[:2] == (["A", "B"], [(2, 3)])


def replayed(capture, number, records, **order):
    """The receipt of a replay of all records, or of its undoing."""
    lake = capture.lake
    paths = {name: getattr(lake, name) for name in STORES}
    found = {name: opened(p if isinstance(p, str) else p(TOPIC)) for name, p in paths.items()}
    before = {name: -1 if table is None else table.version() for name, table in found.items()}
    work = Work.UNDO if "undo" in order else Work.REPLAY
    told = asdict(Rebuild(before={TOPIC: before}, **order))
    return applied(capture, replace(capture.manifest(number, records), work=work, order=told))


def applied(capture, manifest):
    (table,) = capture.compact(manifest).tables
    assert table.error is None
    return table


def names(capture):
    rows = delta.read(capture.session, capture.lake.history(TOPIC)).orderBy("_key", "_seq_from")
    return [row["name"] for row in rows.collect()]


@pytest.mark.heavy
@pytest.mark.parametrize("way", [Way.AUTO, Way.SPREAD])
def test_a_swap_made_alone_can_be_taken_back_when_the_table_was_spread_since(spark, tmp_path, way):
    s = Stream()
    s.change("c", 1, 10, name="A", bio="x")
    s.change("u", 1, 20, name="A", bio="y")
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    capture.way, capture.rules = Way.ALONE, lambda _: TableRules(ignore=("bio",))
    capture.land(s.records)
    applied(capture, capture.manifest(1, s.records))
    capture.rules = lambda _: TableRules()
    replayed(capture, 2, s.records, swap=True)
    assert names(capture) == ["A", "A"]
    news = [s.change("c", 2, 30, name="B")]
    capture.land(news)
    capture.way = Way.SPREAD
    applied(capture, capture.manifest(3, news))
    assert names(capture) == ["A", "A", "B"]
    capture.way = way
    assert replayed(capture, 4, s.records, undo=2).changed
    assert names(capture) == ["A"]
    capture.rules = lambda _: TableRules(ignore=("bio",))
    applied(capture, capture.manifest(5, news))
    assert names(capture) == ["A", "B"]
