"""One way of reading a topic, in its own process: `python -m bench.tasks.land_child FILE`."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from bench import process_tree

_DAY = date(2026, 11, 20)
_BATCH = 10_000
_BUDGET = 64 << 20  # bytes of a commit where a source file says nothing
_LAPS = 2  # the second one counts


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    folder, topic, ends = Path(job["folder"]) / "landed", job["topic"], job["ends"]
    prepare = {"strandline": _landing, "consume": _consuming}[job["way"]]
    read = prepare(job["broker"], topic, ends)
    started = time.monotonic() - job["launched"]
    measured = []
    for lap in range(_LAPS):
        shutil.rmtree(folder, ignore_errors=True)
        counted, began = process_tree.transferred(os.getpid()), time.monotonic()
        found = read(folder)
        seconds = time.monotonic() - began
        moved = process_tree.transferred(os.getpid()) - counted
        grown = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        measured.append(
            {"lap": lap, "batch": 1, "seconds": seconds, "grown": grown, **asdict(moved)}
        )
    wrong = "" if found == sum(ends) else f"{found} records for {sum(ends)}"
    told = {"started": started, "batches": measured, "wrong": wrong}
    Path(job["result"]).write_text(json.dumps(told))


def _consuming(broker: str, topic: str, ends: Sequence[int]) -> Callable[[Path], int]:
    """The bare loop: batches of messages, of which nothing is asked but that they are there."""
    config = {"bootstrap.servers": broker, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer(config)

    def read(_: Path) -> int:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(len(ends))])
        found = 0
        while found < sum(ends):
            found += sum(m.error() is None for m in consumer.consume(_BATCH, 1.0))
        consumer.unassign()
        return found

    return read


def _landing(broker: str, topic: str, ends: Sequence[int]) -> Callable[[Path], int]:
    """What one task of the landing DAG does with all partitions."""
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="bench-airflow-")
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker}}
    os.environ["AIRFLOW_CONN_KAFKA_BENCH"] = json.dumps(connection)
    from strandline_airflow.landing.kafka import KafkaSegments  # noqa: PLC0415 - Airflow has a home now
    from strandline_airflow.landing.zone import LandingZone  # noqa: PLC0415 - likewise

    from strandline.runs.lake import SourceLake  # noqa: PLC0415 - likewise
    from strandline.runs.segment import Segment  # noqa: PLC0415 - likewise

    def read(folder: Path) -> int:
        folder.mkdir()
        zone = LandingZone(SourceLake(str(folder), "bench"))
        with KafkaSegments("kafka_bench", group="bench") as kafka:
            topic_id = kafka.topic_ids([topic])[topic]
            segments = [Segment(topic, topic_id, number, 0, end) for number, end in enumerate(ends)]
            return sum(p.rows for p in zone.land(kafka, segments, _DAY, _BUDGET))

    return read


if __name__ == "__main__":
    main()
