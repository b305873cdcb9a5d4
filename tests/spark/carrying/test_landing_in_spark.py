"""How landed records are read."""

import os

import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake
from pyspark.sql import functions as F
from strandline_spark import landing

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


def test_a_record_that_kafka_has_no_time_of_has_the_first_of_all(records):
    assert records.agg(F.max(F.unix_millis("timestamp"))).first()[0] == 0
