"""Many partitions, and many records: all of them land once, in bounded memory."""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from confluent_kafka import Producer
from deltalake import DeltaTable
from stages import airflow_stage
from stages.shop_stage import opened

from examples.apache_kafka import ApacheKafka

pytestmark = pytest.mark.heavy

BUDGET = 8 << 20
# What docs/deploy.md has a task take at most: what its Kafka client has read ahead and Python holds
# of it, and what becomes of a commit. Its Arrow is there while the file is made, and delta-rs takes
# seven times as much for that where nothing compresses.
BOUND = 300_000_000 + 8 * BUDGET
MILLION = 1_000_000


@pytest.fixture
def shop(tmp_path):
    with ApacheKafka() as broker, opened(tmp_path, broker, None) as shop:
        shop.says(f"[landing]\nsegment_bytes = {BUDGET}\nmax_segments = 1\n")
        yield shop


def send(shop, topic, partitions, count):
    """Sends so many records to each partition, each with its offset as value."""
    shop.broker.create_topic(topic, partitions)
    producer = Producer(
        {
            "bootstrap.servers": shop.broker.bootstrap,
            "linger.ms": 50,
            "queue.buffering.max.messages": 0,
            "enable.idempotence": True,
        }
    )
    for number in range(count):
        value = b"%0100d" % number
        for partition in range(partitions):
            producer.produce(topic, value, b"key", partition=partition)
        if not number % 1000:
            producer.poll(0)
    assert producer.flush(120) == 0


def land(shop):
    """Lands all in one task, in a process of its own, and keeps to the bound of its memory."""
    command = [
        sys.executable,
        airflow_stage.PROJECT / "tests" / "stages" / "landing_process.py",
        str(shop.path),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["tasks"] == 1
    assert BUDGET < told["grown"] < BOUND


def assert_landed(shop, topic, partitions, count):
    """Each record of the topic is in the lake once, with its own value."""
    columns = ["topic", "partition", "offset", "value"]
    rows = DeltaTable(shop.lake.landing).to_pyarrow_table(columns=columns)
    rows = rows.filter(pc.equal(rows["topic"], topic))
    offsets = pc.cast(pc.cast(rows["value"], pa.string()), pa.int64())
    assert pc.all(pc.equal(offsets, rows["offset"])).as_py()
    numbers = pc.add(pc.multiply(pc.cast(rows["partition"], pa.int64()), count), rows["offset"])
    assert numbers.combine_chunks().sort().equals(pa.array(range(partitions * count)))


def test_a_topic_of_two_hundred_partitions_lands_once_in_bounded_memory(shop):
    send(shop, "shop.public.wide", 200, 2500)
    land(shop)
    assert_landed(shop, "shop.public.wide", 200, 2500)


def test_a_million_records_of_each_of_two_topics_land_once_in_bounded_memory(shop):
    topics = ("shop.public.one", "shop.public.other")
    for topic in topics:
        send(shop, topic, 1, MILLION)
    land(shop)
    for topic in topics:
        assert_landed(shop, topic, 1, MILLION)
