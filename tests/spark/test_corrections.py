"""Corrections of a table that a snapshot of its source has ordered."""

import json

import pytest
from events import Stream
from strandline_spark import delta
from strandline_spark.compaction import compact
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.reconciliation import Reconciliation

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


def corrected(capture, number, rows, folder):
    path = folder / "snapshot.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    order = Reconciliation(path.as_posix(), "json", "2026-11-01T00:00:00+00:00", correct=True)
    manifest = Manifest(
        source="shop", connector="postgresql", lake=capture.lake.root, number=number,
        planned_at=capture.moment.isoformat(), landing_version=0,
        tables=(TableCut(TOPIC, TOPIC, ()),), work=Work.RECONCILE,
        order={name: getattr(order, name) for name in Reconciliation.__dataclass_fields__},
    )  # fmt: skip
    (table,) = done(capture.session, manifest).tables
    assert table.error is None
    return table


def names(capture):
    rows = delta.read(capture.session, capture.lake.history(TOPIC)).orderBy("_key", "_seq_from")
    return [(row["name"], row["_closed_by"]) for row in rows.collect()]


@pytest.mark.parametrize("sent", [flat, pytest.param(placed, marks=pytest.mark.heavy)])
def test_what_the_source_sends_after_a_correction_goes_on_from_it(capture, tmp_path, sent):
    s = Stream()
    first, second = sent(s, 1, 10, "A"), sent(s, 1, 30, "C")
    capture.land([first, second])
    compact(capture.session, capture.manifest(1, [first]))
    corrected(capture, 2, [{"id": 1, "name": "B"}], tmp_path)
    assert names(capture) == [("A", "snapshot_correction"), ("B", None)]
    (table,) = compact(capture.session, capture.manifest(3, [second])).tables
    assert table.error is None
    assert [name for name, _ in names(capture)] == ["A", "B", "C"]
    assert names(capture)[-1] == ("C", None)
