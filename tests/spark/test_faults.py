"""Faults of the lake under a compaction: each has an outcome, and nothing is lost."""

import pytest
from events import Stream
from strandline_spark import delta
from strandline_spark.compaction import compact
from strandline_spark.engine import CaptureLake

from strandline.engine import recorded_at
from strandline.interpreter import interpret
from strandline.lake import SourceLake

GOOD, BAD = "shop.public.good", "shop.public.bad"


def stream(topic):
    s = Stream(topic=topic)
    for key in range(5):
        s.change("c", key, 10 + key, name=f"{topic} {key}")
    return s


def more(s):
    s.change("u", 1, 50, name="changed")
    s.change("d", 2, 51)
    return s.records[-2:]


@pytest.fixture
def capture(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(spark, lake, "postgresql", recorded_at(stream(GOOD).records))


def versions(spark, capture, topic):
    """Key and name of every version, in their order; what closed it."""
    rows = delta.read(spark, capture.lake.history(topic)).orderBy("_key", "_seq_from")
    return [(row["_key"], row["name"], row["_closed_by"]) for row in rows.collect()]


def expected(records):
    (table,) = interpret(records).tables
    return [(v.key, v.row["name"], v.closed_by and v.closed_by.value) for v in table.versions]


def landed_file(tmp_path, before):
    """The one data file that landing has written since."""
    (new,) = data_files(tmp_path) - before
    return new


def data_files(tmp_path):
    return set((tmp_path / "shop" / "landing").glob("*.parquet"))


def gone(file):
    kept = file.with_suffix(".kept")
    file.rename(kept)
    return lambda: kept.rename(file)


def corrupt(file):
    content = file.read_bytes()
    checksum = file.with_name(f".{file.name}.crc")
    checksum.unlink()
    file.write_bytes(b"\0" * len(content))
    return lambda: file.write_bytes(content)


@pytest.mark.parametrize("damage", [gone, corrupt])
def test_a_landing_file_that_cannot_be_read_holds_its_table_only_until_it_is_back(
    spark, capture, tmp_path, damage
):
    good, bad = stream(GOOD), stream(BAD)
    capture.land(good.records)
    before = data_files(tmp_path)
    capture.land(bad.records)
    repair = damage(landed_file(tmp_path, before))
    manifest = capture.manifest(1, [*good.records, *bad.records])
    receipts = {table.topic: table for table in compact(spark, manifest).tables}
    assert receipts[GOOD].error is None
    assert receipts[BAD].error is not None
    assert receipts[BAD].history_version == -1
    repair()
    (caught_up,) = compact(spark, capture.manifest(2, bad.records)).tables
    assert caught_up.error is None
    assert versions(spark, capture, GOOD) == expected(good.records)
    assert versions(spark, capture, BAD) == expected(bad.records)
