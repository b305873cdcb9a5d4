"""The workloads `runs` and `wide`: a source's runs by the tasks that Airflow would run.

Each run lands what has come to an Apache Kafka of its own, and plans, applies and publishes it,
alone. After a day's runs the source is tended, as `[schedule] maintain` has it done. A run is to
cost what arrived, and not how many there were before it.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bench.result import Result
from bench.tasks import process
from bench.workloads import Workload
from examples.apache_kafka import ApacheKafka


def race(folder: Path, workload: Workload, rounds: int) -> Iterator[Result]:
    """All rounds; each has a source of its own, whose runs are those of one process."""
    (shape,) = workload.shapes.values()
    counted = sorted({number for group in workload.counted.values() for _, number in group})
    for number in range(rounds):
        with ApacheKafka() as kafka:
            job = {"broker": kafka.bootstrap, "shape": asdict(shape), "counted": counted}
            found = process.measured("bench.tasks.runs_child", folder, job)
        yield Result(workload.name, "", "strandline", number, **found)
