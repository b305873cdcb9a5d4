"""Tables of many columns, runs of many partitions: Spark walks expressions by recursion."""

import pytest
from samples.events import COLUMNS, Stream
from strandline_spark import delta, landing
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import OffsetRange

TOPIC = "shop.public.good"


@pytest.mark.heavy
def test_a_table_of_many_columns_is_compacted(spark, tmp_path):
    names = [f"c{number}" for number in range(400)]
    fields = ({"type": "int32", "field": name, "optional": True} for name in names)
    s = Stream(topic=TOPIC, columns=[*COLUMNS, *fields])
    s.change("c", 1, 10, more=dict.fromkeys(names, 1))
    s.change("u", 1, 20, more={**dict.fromkeys(names, 1), "c399": 2})
    s.change("u", 1, 30, more={**dict.fromkeys(names, 1), "c399": "no number"})
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    capture.land(s.records)
    (table,) = done(spark, capture.manifest(1, s.records)).tables
    assert table.error is None
    rows = delta.read(spark, lake.history(TOPIC)).orderBy("_seq_from").collect()
    assert [row["c399"] for row in rows] == [1, 2]
    (refused,) = delta.read(spark, lake.quarantine).collect()
    assert refused["detail"] == "after.c399 is no int"


@pytest.mark.heavy
def test_a_run_may_pin_thousands_of_ranges(spark, tmp_path):
    s = Stream(topic=TOPIC)
    s.change("c", 1, 10, name="n")
    s.change("c", 2, 20, name="n")
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    capture.land(s.records)
    (mine,) = capture.manifest(1, s.records).tables
    others = [OffsetRange(f"t{n // 8}", "id", n % 8, 0, 5) for n in range(2000)]
    read = landing.records(spark, lake.landing, 0, [*others, *mine.ranges])
    assert sorted(row["offset"] for row in read.collect()) == [0, 1]
