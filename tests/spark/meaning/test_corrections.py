"""Corrections of a table that a snapshot of its source has ordered."""

import json
from dataclasses import asdict, replace
from itertools import pairwise

import pyarrow as pa
import pytest
from pyarrow import parquet
from samples.events import Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.reconciliation import Reconciliation
from strandline.runs.way import Way

TOPIC = "shop.public.item"


def flat(stream, key, at, name):
    """A row as ExtractNewRecordState makes it."""
    row = {"id": key, "name": name, "__op": "c", "__lsn": at, "__deleted": "false"}
    return stream.add(json.dumps({"id": key}).encode(), json.dumps(row).encode())


def placed(stream, key, at, name):
    return stream.change("c", key, at, name=name)


@pytest.fixture
def capture(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", recorded_at([Stream().change("c", 1, 1)]), session=spark)


def corrected(capture, number, rows, folder, way=Way.AUTO):
    path = folder / "snapshot.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    order = Reconciliation(path.as_posix(), "json", "2026-11-01T00:00:00+00:00", correct=True)
    manifest = Manifest(
        source="shop", connector="postgresql", lake=capture.lake.root, number=number,
        planned_at=capture.moment.isoformat(), landing_version=0,
        tables=(TableCut(TOPIC, TOPIC, ()),), work=Work.RECONCILE,
        order={name: getattr(order, name) for name in Reconciliation.__dataclass_fields__},
        way=way,
    )  # fmt: skip
    (table,) = done(capture.session, manifest).tables
    assert table.error is None
    return table


def names(capture):
    rows = delta.read(capture.session, capture.lake.history(TOPIC)).orderBy("_key", "_seq_from")
    return [(row["name"], row["_closed_by"]) for row in rows.collect()]


@pytest.mark.heavy
@pytest.mark.parametrize("sent", [flat, placed])
def test_what_the_source_sends_after_a_correction_goes_on_from_it(capture, tmp_path, sent):
    s = Stream()
    first, second = sent(s, 1, 10, "A"), sent(s, 1, 30, "C")
    capture.land([first, second])
    done(capture.session, capture.manifest(1, [first]))
    corrected(capture, 2, [{"id": 1, "name": "B"}], tmp_path)
    assert names(capture) == [("A", "snapshot_correction"), ("B", None)]
    (table,) = done(capture.session, capture.manifest(3, [second])).tables
    assert table.error is None
    assert [name for name, _ in names(capture)] == ["A", "B", "C"]
    assert names(capture)[-1] == ("C", None)


WRITTEN = {
    "csv": 'id,name,bio\n1,A,\\N\n2,"b, ""the"" \'one\'",x\n4,new,\\N\n',
    "json": (
        '{"id": 1, "name": "A", "bio": null}\n'
        '{"id": 2, "name": "b, \\"the\\" \'one\'", "bio": "x"}\n'
        '{"id": 4, "name": "new"}\n'
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_snapshot_in_any_format_is_compared_alike_alone_and_spread(spark, tmp_path, kind):
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        rows = [json.loads(line) for line in WRITTEN["json"].splitlines()]
        parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(WRITTEN[kind])
    order = Reconciliation(path.as_posix(), kind, "2026-11-01T00:00:00+00:00", null="\\N")
    found = {}
    for way in (Way.ALONE, Way.SPREAD):
        capture = lake(spark, tmp_path / way)
        capture.way = way
        s = Stream()
        s.change("c", 1, 10, name="A")
        s.change("c", 2, 20, name="B", bio="x")
        s.change("c", 3, 30, name="gone")
        capture.land(s.records)
        done(spark, capture.manifest(1, s.records))
        manifest = replace(capture.manifest(2, s.records), work=Work.RECONCILE, order=asdict(order))
        (table,) = done(spark, manifest).tables
        assert (table.error, table.way) == (None, way)
        listed = delta.read(spark, capture.lake.differences).orderBy("key").collect()
        found[way] = table.did, [tuple(row) for row in listed]
    assert found[Way.ALONE] == found[Way.SPREAD]
    assert found[Way.ALONE][0] == {
        "equal": 1, "different": 1, "not in the source": 1, "not in the history": 1
    }  # fmt: skip


def test_a_snapshot_that_only_spark_can_look_for_is_spread(spark, tmp_path):
    capture = lake(spark, tmp_path / "lake")
    capture.way = Way.AUTO
    record = Stream().change("c", 1, 10, name="A")
    capture.land([record])
    (first,) = done(spark, capture.manifest(1, [record])).tables
    assert first.way is Way.ALONE
    (tmp_path / "rows.1.json").write_text('{"id": 1, "name": "A"}\n')
    order = Reconciliation(f"{tmp_path}/rows.*.json", "json", "2026-11-01T00:00:00+00:00")
    manifest = replace(capture.manifest(2, [record]), work=Work.RECONCILE, order=asdict(order))
    (table,) = done(spark, manifest).tables
    assert (table.error, table.way, table.did) == (None, Way.SPREAD, {"equal": 1})


SET_RIGHT = [{"id": 1, "name": "B"}, {"id": 3, "name": "E"}]
COMPARED = (
    "id", "name", "bio", "_valid_from", "_valid_to", "_seq_from", "_seq_to", "_closed_by",
    "_entity_id", "_unavailable", "_topic", "_partition", "_offset", "_is_head",
)  # fmt: skip


def story(capture):
    rows = delta.read(capture.session, capture.lake.history(TOPIC)).orderBy("_key", "_seq_from")
    return [tuple(row) for row in rows.select(*COMPARED).collect()]


def runs(capture, folder, ways):
    """Three runs with a correction in between, each by its way; the ways that they went."""
    s = Stream()
    s.change("c", 1, 10, name="A", bio="x")
    s.change("c", 2, 20, name="D")
    s.change("u", 1, 30, name="C", bio="x")
    s.change("u", 3, 40, name="F")
    went = []
    for number, records in ((1, s.records[:2]), (3, s.records[2:3]), (4, s.records[3:])):
        capture.land(records)
        capture.way = ways[number - 1]
        (table,) = done(capture.session, capture.manifest(number, records)).tables
        assert table.error is None
        went.append(table.way)
        if number == 1:
            went.append(corrected(capture, 2, SET_RIGHT, folder, ways[1]).way)
    return went


def lake(spark, path):
    lake = SourceLake(path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", recorded_at([Stream().change("c", 1, 1)]), session=spark)


@pytest.mark.heavy
def test_a_correction_is_the_same_alone_and_spread_and_outlives_each_turn(spark, tmp_path):
    alone, spread, turning = (lake(spark, tmp_path / n) for n in ("alone", "spread", "turning"))
    for capture, ways in (
        (alone, [Way.ALONE] * 4),
        (spread, [Way.SPREAD] * 4),
        (turning, [Way.ALONE, Way.ALONE, Way.SPREAD, Way.ALONE]),
    ):
        assert runs(capture, tmp_path, ways) == ways
    assert [row[:2] for row in story(alone)] == [
        (1, "A"), (1, "B"), (1, "C"), (2, "D"), (3, "E"), (3, "F")
    ]  # fmt: skip
    for one, other in pairwise((alone, spread, turning)):
        assert story(one) == story(other)


@pytest.mark.heavy
def test_what_spark_has_corrected_outlives_a_turn(spark, tmp_path):
    spread, turning = (lake(spark, tmp_path / name) for name in ("spread", "turning"))
    runs(spread, tmp_path, [Way.SPREAD] * 4)
    ways = [Way.SPREAD, Way.SPREAD, Way.ALONE, Way.SPREAD]
    assert runs(turning, tmp_path, ways) == ways
    assert story(spread) == story(turning)
