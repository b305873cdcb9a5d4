"""The halves of key moves that wait for their other half, as a run leaves them to the next."""

import pytest
from samples.events import Stream
from strandline_spark import delta
from strandline_spark.engine import CaptureLake

from strandline import engine
from strandline.law import interpret
from strandline.runs.lake import SourceLake

GONE = "__debezium_unavailable_value"


def earlier_create(s):
    return s.change("c", 1, 5, name="A", bio="long", partition=0)


def earlier_update(s):
    s.change("c", 1, 4, name="A", bio="short", partition=0)
    return s.change("u", 1, 5, name="A", bio="long", partition=0)


def earlier_truncate(s):
    s.change("c", 1, 4, name="A", bio="short", partition=0)
    return s.truncate(5)


@pytest.mark.heavy
@pytest.mark.parametrize("last", [earlier_create, earlier_update, earlier_truncate])
def test_a_row_whose_move_came_by_half_has_what_its_old_key_turns_out_to_have_had(
    spark, tmp_path, last
):
    s = Stream()
    s.change("c", 2, 8, name="A", bio=GONE, partition=1, oldkey=1)
    late = last(s)
    lake = SourceLake(tmp_path.as_posix(), "shop")
    capture = CaptureLake(lake, "postgresql", engine.recorded_at(s.records), session=spark)
    first = [record for record in s.records if record is not late]
    for receipt in capture.runs([first, [late]]):
        assert receipt.tables[0].error is None
    (table,) = interpret(s.records).tables
    names = ("id", "bio", "_entity_id", "_unavailable", "_closed_by")
    expected = [tuple(v.cells()[name] for name in names) for v in table.versions]
    rows = delta.read(spark, lake.history(s.topic)).orderBy("_key", "_seq_from").collect()
    assert [tuple(row[name] for name in names) for row in rows] == expected
