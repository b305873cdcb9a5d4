"""What counts as a small run: few records, none of them long."""

from dataclasses import replace

import pytest
from events import Stream
from strandline_spark import delta, intake, small
from strandline_spark.compaction import compact
from strandline_spark.engine import CaptureLake

from strandline import engine
from strandline.runs.lake import SourceLake

SHORT, LONG = "shop.public.short", "shop.public.long"
NOTE = "n" * small.LONG


@pytest.fixture
def capture(spark, tmp_path):
    """A landed run of two tables, and its manifest."""
    streams = [Stream(topic=topic) for topic in (SHORT, LONG)]
    for stream, name in zip(streams, ("short", NOTE), strict=True):
        stream.change("c", 1, 10, name=name)
    records = [record for stream in streams for record in stream.records]
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(records), session=spark)
    capture.land(records)
    return lake, capture.manifest(1, records)


def test_a_table_of_few_records_is_small_unless_one_of_them_is_long(spark, capture):
    _, manifest = capture
    few = small.few(spark, manifest)
    assert (few.short, few.long.keys()) == ({SHORT}, {LONG})
    assert few.long[LONG] >= small.LONG


def test_the_records_of_small_tables_are_read_together_but_for_the_long_ones(spark, capture):
    _, manifest = capture
    short = [cut for cut in manifest.tables if cut.topic == SHORT]
    assert intake.shared(spark, manifest, short).whole
    both = intake.shared(spark, manifest, manifest.tables)
    assert not both.whole
    read = {cut.topic: both.of(spark, cut)[0].count() for cut in manifest.tables}
    assert read == {SHORT: 1, LONG: 0}


def test_where_no_record_is_long_nobody_looks_for_one(spark, capture, monkeypatch):
    _, manifest = capture
    monkeypatch.setattr(small, "_long", lambda *_: 1 / 0)
    short = tuple(cut for cut in manifest.tables if cut.topic == SHORT)
    (table,) = compact(spark, replace(manifest, tables=short)).tables
    assert table.error is None


def test_of_long_records_a_task_has_a_bounded_number_of_bytes_however_many_arrived():
    parts = "spark.sql.shuffle.partitions"
    few = small.Few(long={LONG: 1_000_000_000, SHORT: small.LONG + 1})
    assert (few.settings(LONG)[parts], few.settings(SHORT)[parts]) == ("30", "1")


def test_tables_with_long_records_and_without_are_applied_in_one_run(spark, capture):
    lake, manifest = capture
    assert [table.error for table in compact(spark, manifest).tables] == [None, None]
    names = {
        topic: delta.read(spark, lake.history(topic)).first()["name"] for topic in (SHORT, LONG)
    }
    assert names == {SHORT: "short", LONG: NOTE}
