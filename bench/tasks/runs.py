"""The workloads `runs` and `wide`: a source's runs by the tasks that Airflow would run.

Each run lands what has come to an Apache Kafka of its own, and plans, applies and publishes it,
alone. After a day's runs the source is tended, as `[schedule] maintain` has it done. A run is to
cost what arrived, and not how many there were before it.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from bench.process_tree import PeakMemory
from bench.result import Result
from bench.workloads import Workload
from examples.apache_kafka import ApacheKafka

_PROJECT = Path(__file__).resolve().parents[2]


def race(folder: Path, workload: Workload, rounds: int) -> Iterator[Result]:
    """All rounds; each has a source of its own, whose runs are those of one process."""
    (shape,) = workload.shapes.values()
    counted = sorted({number for group in workload.counted.values() for _, number in group})
    log, result = folder / "child.log", folder / "runs.json"
    for number in range(rounds):
        with ApacheKafka() as kafka, log.open("w") as noise:
            job = {"broker": kafka.bootstrap, "shape": asdict(shape), "counted": counted}
            job |= {"folder": str(folder), "result": str(result), "launched": time.monotonic()}
            command = [sys.executable, "-m", "bench.tasks.runs_child", json.dumps(job)]
            child = subprocess.Popen(command, cwd=_PROJECT, stdout=noise, stderr=noise)
            with PeakMemory(child.pid) as memory:
                code = child.wait()
        if code:
            raise RuntimeError(f"the runs failed: see {log}")
        told = json.loads(result.read_text())
        yield Result(workload.name, "", "strandline", number, peak=memory.bytes, **told)
