"""Names of columns, whatever the engine calls its own, and of the folder that a lake lies in."""

import pytest
from samples.events import COLUMNS, Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake
from strandline_spark.work import done

from strandline.engine import recorded_at
from strandline.law import interpret
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

TOPIC = "shop.public.good"
ENGINE_S = [
    "key", "value", "topic", "partition", "offset", "timestamp", "headers", "topic_id", "v", "k",
    "exact", "loose", "schema_id", "value_payload", "lived", "all", "t", "s", "n", "c", "m",
]  # fmt: skip
ODD = [
    "First Name", "a.b", "tick`y", "q(1)", "Größe", "x;y,z", "a=b", 'quo"te', "it's", "id:1", "*",
    "_id", "_deleted", "_version", "_class", "__op", "__deleted",
]  # fmt: skip
NAMES = ENGINE_S + ODD


@pytest.mark.heavy
def test_columns_keep_the_names_that_the_database_gave_them(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    s = Stream(topic=TOPIC, columns=[*COLUMNS, *({"type": "string", "field": n} for n in NAMES)])
    for at, op in ((10, "c"), (20, "u"), (30, "d"), (40, "c")):
        s.change(op, 1, at, name="n", more=dict.fromkeys(NAMES, f"v{at}"))
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    for number, batch in enumerate((s.records[:2], s.records[2:]), 1):
        capture.land(batch)
        (table,) = done(spark, capture.manifest(number, batch)).tables
        assert table.error is None
    rows = delta.read(spark, lake.history(TOPIC)).orderBy("_seq_from").collect()
    (told,) = interpret(s.records).tables
    assert [{n: r[n] for n in NAMES} for r in rows] == [
        {n: v.row[n] for n in NAMES} for v in told.versions
    ]
    assert len(rows) == 3


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["5% off", "it's #1?", "{a}*=ä"])
def test_both_ways_find_a_lake_in_a_folder_of_an_odd_name(spark, tmp_path, name):
    s = Stream(topic=TOPIC)
    s.change("c", 1, 10, name="A")
    s.add(b'{"id":2}', b"no JSON")
    lake = SourceLake(f"{tmp_path}/{name}", "shop")
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    arrived = list(s.records)
    for number, way in enumerate((Way.SPREAD, Way.ALONE, Way.SPREAD), 1):
        capture.land(arrived)
        capture.way = way
        (table,) = capture.compact(capture.manifest(number, arrived)).tables
        assert (table.error, table.way) == (None, way)
        arrived = [s.change("u", 1, 20 + number, name=f"B{number}")]
    rows = delta.read(spark, lake.history(TOPIC)).orderBy("_seq_from").collect()
    assert [row["name"] for row in rows] == ["A", "B1", "B2"]


@pytest.mark.heavy
def test_names_that_come_later_keep_what_the_history_has(spark, tmp_path):
    lake = SourceLake(tmp_path.as_posix(), "shop")
    s = Stream(topic=TOPIC)
    s.change("c", 1, 10, name="n")
    old = list(s.records)
    s.columns = [*COLUMNS, {"type": "string", "field": "First Name"}]
    s.change("u", 1, 20, name="n", more={"First Name": "Ada"})
    capture = CaptureLake(lake, "postgresql", recorded_at(s.records), session=spark)
    for number, batch in enumerate((old, s.records[1:]), 1):
        capture.land(batch)
        (table,) = done(spark, capture.manifest(number, batch)).tables
        assert table.error is None
    rows = delta.read(spark, lake.history(TOPIC)).orderBy("_seq_from").collect()
    assert [(row["name"], row["First Name"]) for row in rows] == [("n", None), ("n", "Ada")]
