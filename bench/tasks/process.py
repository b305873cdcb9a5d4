"""A race's process: a module of the benchmark, given a job and left alone until it ends."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.process_tree import PeakMemory

_PROJECT = Path(__file__).resolve().parents[2]


def measured(module: str, folder: Path, job: Mapping[str, object]) -> dict[str, Any]:
    """What `python -m MODULE JOB` wrote into the job's `result`, and its `peak` of memory in bytes.

    JOB is a file, since a job of thousands of batches is no argument. What it prints is in
    `child.log` of the folder; `RuntimeError` where it fails.
    """
    asked, result, log = (folder / name for name in ("job.json", "measured.json", "child.log"))
    told = {**job, "folder": str(folder), "result": str(result), "launched": time.monotonic()}
    asked.write_text(json.dumps(told))
    with log.open("w") as noise:
        command = [sys.executable, "-m", module, str(asked)]
        child = subprocess.Popen(command, cwd=_PROJECT, stdout=noise, stderr=noise)
        with PeakMemory(child.pid) as memory:
            code = child.wait()
    if code:
        raise RuntimeError(f"{module} failed: see {log}")
    return {**json.loads(result.read_text()), "peak": memory.bytes}
