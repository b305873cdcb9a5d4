"""The workload `whole`: one large table from Apache Kafka to its history, by the tasks of the DAGs.

What counts beside the time is the peak of memory: of landing's task, and of a Spark whose driver
has what `[spark]` gives it where a source file says nothing.
"""

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bench.result import Result
from bench.tasks import process, source
from bench.workloads import Workload
from examples.apache_kafka import ApacheKafka


def race(folder: Path, workload: Workload, rounds: int) -> Iterator[Result]:
    """All rounds, each with a broker, a lake and a process of its own."""
    (shape,) = workload.shapes.values()
    home = folder / "whole"
    for number in range(rounds):
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        with ApacheKafka() as kafka:
            source.sender(shape, kafka.bootstrap)(1)
            job = {"broker": kafka.bootstrap, "shape": asdict(shape), "home": str(home)}
            found = process.measured("bench.tasks.whole_child", folder, job)
        wrong = source.wrong(home, shape)
        shutil.rmtree(home)
        yield Result(workload.name, "", "strandline", number, **found, wrong=wrong)
