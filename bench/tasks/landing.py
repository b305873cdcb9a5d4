"""The workload `landing`: what Kafka has into the landing table, beside merely consuming it.

The broker is an Apache Kafka of its own on this machine, or the one at `--broker HOST:PORT`.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.cases import landed
from bench.cases.stream import Batch, Shape, stream
from bench.result import Result
from bench.tasks import process
from examples.apache_kafka import ApacheKafka

NAME = "landing"
WAYS = ("strandline", "consume")

_PARTITIONS = 4
_ANSWER_SECONDS = 60


def race(
    folder: Path, records: int, broker: str | None, ways: Sequence[str], rounds: int
) -> Iterator[Result]:
    """All rounds; each way reads the same topic from its start to its end, twice in a process."""
    with _filled(records, broker) as (address, topic, ends):
        for number in range(rounds):
            for way in [way for way in WAYS if way in ways][:: -1 if number % 2 else 1]:
                yield _run(folder, way, number, {"broker": address, "topic": topic, "ends": ends})


def _run(folder: Path, way: str, number: int, told: dict[str, object]) -> Result:
    found = process.measured("bench.tasks.land_child", folder, {**told, "way": way})
    return Result(NAME, "", way, number, **found)


@contextmanager
def _filled(records: int, broker: str | None) -> Iterator[tuple[str, str, list[int]]]:
    """A broker with a topic of so many records: its address, the topic, its end offsets."""
    topic = f"bench.public.landing{os.getpid()}"
    with nullcontext(broker) if broker else _own() as address:
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        made = admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])
        made[topic].result(_ANSWER_SECONDS)
        yield address, topic, _fill(address, topic, records)
        admin.delete_topics([topic])[topic].result(_ANSWER_SECONDS)


@contextmanager
def _own() -> Iterator[str]:
    with ApacheKafka() as kafka:
        yield kafka.bootstrap


def _fill(broker: str, topic: str, records: int) -> list[int]:
    shape = Shape(keys=records // 4 + 1, batches=(Batch(records),), partitions=_PARTITIONS)
    changes = stream(shape)
    arrived = landed.arrival(changes, shape, 0)
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 20, "log_level": 0})
    slices = landed.slices([("landing", changes, arrived)], shape, 1)
    for number, row in enumerate(row for piece in slices for row in piece.to_pylist()):
        producer.produce(
            topic,
            row["value"],
            row["key"],
            partition=number % _PARTITIONS,
            headers=[(header["key"], header["value"]) for header in row["headers"]],
        )
        if number % 1_000 == 0:
            producer.poll(0)
            producer.flush(_ANSWER_SECONDS)
    if left := producer.flush(_ANSWER_SECONDS):
        raise TimeoutError(f"{left} records were not stored")
    count = len(arrived.change)
    return np.bincount(np.arange(count) % _PARTITIONS, minlength=_PARTITIONS).tolist()
