"""A large table's first run in a process of its own: `python -m bench.tasks.whole_child FILE`."""

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from bench import process_tree
from bench.cases.stream import Batch, Shape
from bench.tasks.source import Tasks


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    shape = Shape(**job["shape"] | {"batches": tuple(Batch(**b) for b in job["shape"]["batches"])})
    home = Path(job["home"])
    tasks = Tasks.of(home, shape, job["broker"], through_spark=True)
    started = time.monotonic() - job["launched"]
    measured = []
    for number, step in enumerate((tasks.land, tasks.compact), 1):
        stored, moved = _size(home), process_tree.transferred(os.getpid())
        began = time.monotonic()
        step(1)
        told = {"lap": 0, "batch": number, "seconds": time.monotonic() - began}
        transfer = asdict(process_tree.transferred(os.getpid()) - moved)
        measured.append(told | {"grown": _size(home) - stored} | transfer)
    Path(job["result"]).write_text(json.dumps({"started": started, "batches": measured}))


def _size(home: Path) -> int:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
