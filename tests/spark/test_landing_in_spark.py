"""How landed records are read: by all cores, however few bytes they take."""

import os

import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake
from pyspark.sql import functions as F
from strandline_spark import landing, settings

from strandline.runs.manifest import OffsetRange

TOPIC = "shop.public.orders"
ROWS = 600


@pytest.fixture
def records(spark, tmp_path):
    """Half a megabyte of records in one file: Spark would have one task read them."""
    landed = pa.table(
        {
            "topic": [TOPIC] * ROWS,
            "topic_id": ["1"] * ROWS,
            "partition": pa.array([0] * ROWS, pa.int32()),
            "offset": range(ROWS),
            "timestamp": pa.array([None] * ROWS, pa.timestamp("us", "UTC")),
            "value": [os.urandom(1_000) for _ in range(ROWS)],
        }
    )
    parts = WriterProperties(max_row_group_size=ROWS // 6)
    write_deltalake(tmp_path, landed, writer_properties=parts)
    every = OffsetRange(TOPIC, "1", 0, 0, ROWS)
    return landing.records(spark, tmp_path.as_posix(), 0, [every])


def tasks(records):
    return records.select(F.spark_partition_id().alias("task")).distinct().count()


def test_one_file_is_decoded_by_several_tasks(spark, records):
    with landing.spread(spark):
        assert tasks(records) > 1
    assert tasks(records) == 1


def test_a_session_that_says_how_many_tasks_reads_by_so_many(spark, records):
    own = settings.during(spark, {"spark.sql.files.minPartitionNum": "1"})
    with own, landing.spread(spark):
        assert tasks(records) == 1


def test_a_record_that_kafka_has_no_time_of_has_the_first_of_all(records):
    assert records.agg(F.max(F.unix_millis("timestamp"))).first()[0] == 0
