"""A source's runs in a process of their own: `python -m bench.tasks.runs_child FILE`."""

import json
import os
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

from bench import process_tree
from bench.tasks import source
from bench.tasks.source import Tasks
from bench.workloads import A_DAY


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    shape = source.shape_of(job)
    home = Path(job["folder"], "runs")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    send = source.sender(shape, job["broker"])
    tasks = Tasks.of(home, shape, job["broker"])
    started = time.monotonic() - job["launched"]
    measured = []
    for number in range(1, len(shape.batches) + 1):
        send(number)
        counts = number in job["counted"]
        stored, moved = source.size(home) if counts else 0, process_tree.transferred(os.getpid())
        began, worked = time.monotonic(), time.process_time()
        tasks.land(number)
        tasks.compact(number)
        seconds, cpu = time.monotonic() - began, time.process_time() - worked
        if counts:
            transfer = asdict(process_tree.transferred(os.getpid()) - moved)
            grown = source.size(home) - stored
            told = {"lap": 0, "batch": number, "seconds": seconds, "cpu": cpu, "grown": grown}
            measured.append(told | transfer)
        if number == 1:
            tasks.hasten()
        if number % A_DAY == 0:
            tasks.tend(number)
    told = {"started": started, "batches": measured, "wrong": source.wrong(home, shape)}
    Path(job["result"]).write_text(json.dumps(told))
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
