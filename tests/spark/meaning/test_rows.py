"""Rows as tasks take them: in whole groups, or in pieces of a group that is large."""

import pyarrow as pa
import pytest
from pyspark.accumulators import Accumulator
from strandline_spark.spread.rows import ENTERED, Landed, chunks, pieces
from strandline_spark.spread.telling import Telling, _Union


def rows(groups, read=None):
    count = len(groups)
    read = read or [b"read"] * count
    return pa.table({"group": groups, "row": pa.array(read, pa.binary()), "n": range(count)})


def batches(table, size):
    return [batch for batch in table.to_batches(max_chunksize=size) if batch.num_rows]


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_a_chunk_has_whole_groups_and_chunks_have_every_row_in_its_order(size):
    table = rows(list("aaabbcdddde"))
    found = list(chunks(batches(table, size), 2))
    assert [n for chunk in found for n in chunk["n"].to_pylist()] == list(range(11))
    seen = [set(chunk["group"].to_pylist()) for chunk in found]
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_a_large_group_comes_in_pieces_of_which_none_parts_a_tombstone_from_its_delete():
    read = [b"u", b"d", None, b"c", None, b"u"]
    found = list(pieces(batches(rows(["a"] * 6, read), 1), 2))
    assert [n for piece, _ in found for n in piece["n"].to_pylist()] == list(range(6))
    assert [goes_on for _, goes_on in found] == [True] * (len(found) - 1) + [False]
    assert len(found) > 2
    assert all(piece["row"][0].is_valid for piece, _ in found)


def entered(offset, run, topic="t", topic_id="1"):
    known = {"topic": topic, "topic_id": topic_id, "partition": 0, "offset": offset, "run": run}
    return {name: known.get(name) for name in ENTERED.names}


def test_of_a_record_that_is_there_twice_the_newest_stays_and_corrections_stand_apart():
    given = [entered(5, 1), entered(3, 2), entered(5, 4), entered(7, 7, "reconciliation", "{}")]
    found = Landed.of(pa.Table.from_pylist(given, schema=ENTERED))
    assert found.landed.select(["offset", "run"]).to_pylist() == [
        {"offset": 3, "run": 2},
        {"offset": 5, "run": 4},
    ]
    assert found.corrected["offset"].to_pylist() == [7]
    assert found.before(3).landed["offset"].to_pylist() == [3]


def test_a_part_that_was_computed_twice_tells_once():
    parts = Accumulator(0, {}, _Union())
    telling = Telling(parts, 0)
    for number, said in ((0, 5), (1, 7), (0, 5)):
        telling.tell(number, said)
    assert telling.told == 12
