"""The files of landing, as any process reads its share of them."""

import os
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, WriterProperties, write_deltalake
from samples.damage import corrupt, gone

from strandline.alone.stores.landing_files import Extract
from strandline.errors import Transient
from strandline.runs.manifest import OffsetRange

TOPIC, OTHER = "shop.public.orders", "shop.public.customers"
MANY = 600
WHOLE = OffsetRange(TOPIC, "1", 0, 0, 2 * MANY)


def rows(first, count, *, topic=TOPIC, partition=0, timestamp=None):
    return pa.table(
        {
            "topic": [topic] * count,
            "topic_id": ["1"] * count,
            "partition": pa.array([partition] * count, pa.int32()),
            "offset": range(first, first + count),
            "timestamp": pa.array([timestamp] * count, pa.timestamp("us", "UTC")),
            "value": [os.urandom(1_000) for _ in range(count)],
        }
    )


@pytest.fixture
def table(tmp_path):
    """Two files of the topic in groups of a hundred rows, and one of another topic."""
    groups = WriterProperties(max_row_group_size=100)
    for each in (rows(0, MANY), rows(0, 10, topic=OTHER), rows(MANY, MANY // 3)):
        write_deltalake(tmp_path, each, mode="append", writer_properties=groups)
    return DeltaTable(tmp_path)


def read(table, extract, parts=4, least=1):
    """The offsets that each of the readers finds."""
    shares = extract.shares(table, parts, least)
    return [
        [
            at
            for split in share
            for batch in extract.read(split)
            for at in batch["offset"].to_pylist()
        ]
        for share in shares
    ]


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
def test_however_many_readers_there_are_each_record_is_read_once_and_in_order(table, parts):
    found = read(table, Extract.of(table.table_uri, [WHOLE]), parts)
    assert sum(found, []) == list(range(MANY + MANY // 3))  # noqa: RUF017 - a few lists


def test_readers_have_as_much_to_read_as_each_other_but_for_a_group_of_rows(table):
    lengths = [len(each) for each in read(table, Extract.of(table.table_uri, [WHOLE]), 4)]
    assert max(lengths) - min(lengths) <= 100


def test_few_bytes_are_not_worth_several_readers(table):
    extract = Extract.of(table.table_uri, [WHOLE])
    assert len(read(table, extract, 4, least=10 << 20)) == 1


def test_only_the_records_of_the_ranges_are_read(table):
    ranges = [OffsetRange(TOPIC, "1", 0, 150, 160), OffsetRange(TOPIC, "1", 0, 640, 642)]
    ranges += [OffsetRange(TOPIC, "2", 0, 0, 9), OffsetRange(TOPIC, "1", 1, 0, 9)]
    found = read(table, Extract.of(table.table_uri, ranges))
    assert sum(found, []) == [*range(150, 160), 640, 641]  # noqa: RUF017


@pytest.mark.parametrize("last", ["", "a", "z", "~"])
@pytest.mark.parametrize("letters", [31, 32, 33, 63, 64, 65, 200])
def test_a_topic_longer_than_what_statistics_say_of_it_is_found(tmp_path, letters, last):
    topic = "s" * letters + last
    for each in (topic, f"{topic}.other"):
        write_deltalake(tmp_path, rows(0, 3, topic=each), mode="append")
    extract = Extract.of(tmp_path.as_posix(), [OffsetRange(topic, "1", 0, 0, 9)])
    assert sum(read(DeltaTable(tmp_path), extract), []) == [0, 1, 2]  # noqa: RUF017


def test_a_range_that_nothing_has_landed_of_has_no_readers(table):
    nowhere = OffsetRange(TOPIC, "1", 0, 5_000, 6_000)
    assert read(table, Extract.of(table.table_uri, [nowhere])) == []


def test_a_record_that_kafka_has_no_time_of_has_the_first_of_all(table):
    extract = Extract.of(table.table_uri, [OffsetRange(OTHER, "1", 0, 0, 1)])
    ((split,),) = extract.shares(table, 1, 1)
    (batch,) = extract.read(split)
    assert batch["timestamp"].to_pylist() == [datetime(1970, 1, 1, tzinfo=UTC)]
    assert batch["headers"].to_pylist() == [None]


@pytest.mark.parametrize("damage", [gone, corrupt])
def test_a_file_that_cannot_be_read_is_named_with_the_remedy(table, tmp_path, damage):
    extract = Extract.of(table.table_uri, [WHOLE])
    ((split, *_), *_) = extract.shares(table, 1, 1)
    damage(tmp_path / split.path)
    with pytest.raises(Transient, match="restore it, and the next"):
        list(extract.read(split))
