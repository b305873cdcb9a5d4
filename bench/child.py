"""One contender in a process of its own: `python -m bench.child JOB`, where JOB is JSON.

It writes what it measured to the file that the job names.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from bench import process_tree
from bench.cases import volume
from bench.cases.case import opened
from bench.contenders import CONTENDERS, Contender

Lap = tuple[str, tuple[int, ...]]  # a folder, and the batches that are applied in it


@dataclass(frozen=True, slots=True)
class Job:
    """What a child is to do.

    The `laps` are done one after the other. With `prepare` the history after the base is made in
    the one folder instead. `launched` is when the parent started it, in seconds of the monotonic
    clock, which all processes of a machine share.
    """

    contender: str
    case: str
    laps: tuple[Lap, ...]
    memory: str
    cores: int
    result: str
    launched: float
    prepare: bool = False

    @staticmethod
    def from_json(text: str) -> "Job":
        return Job(**json.loads(text))


def main() -> None:
    job = Job.from_json(sys.argv[1])
    contender = CONTENDERS[job.contender](opened(Path(job.case)), Path(job.laps[0][0]))
    contender.start(job.memory, job.cores)
    started = time.monotonic() - job.launched
    if job.prepare:
        contender.prepare()
        measured: list[dict[str, Any]] = []
    else:
        measured = [
            {"lap": lap, "batch": batch} | _measured(contender, Path(folder), batch)
            for lap, (folder, batches) in enumerate(job.laps)
            for batch in batches
        ]
        _add_volumes(contender, measured, Path(job.result).with_name("volume"))
    contender.stop()
    for each in measured:
        began = each.pop("at")
        each.update(contender.beside(began, began + each["seconds"]))
    Path(job.result).write_text(json.dumps({"started": started, "batches": measured}))


def _measured(contender: Contender, folder: Path, batch: int) -> dict[str, Any]:
    contender.folder = folder
    files, counted = _files(folder), process_tree.transferred(os.getpid())
    at, began = time.time(), time.monotonic()
    contender.apply(batch)
    seconds = time.monotonic() - began
    moved = process_tree.transferred(os.getpid()) - counted
    return {"at": at, "seconds": seconds, **asdict(moved), "grown": _grown(files, _files(folder))}


def _add_volumes(contender: Contender, measured: list[dict[str, Any]], folder: Path) -> None:
    """Adds to the batches of the last lap how many bytes the rows are that they had to write."""
    if not (contender.whole and contender.in_delta and contender.case.shape.base):
        return
    last = [each for each in measured if each["lap"] == measured[-1]["lap"]]
    shutil.rmtree(folder, ignore_errors=True)
    numbers = [each["batch"] for each in last]
    sizes = volume.of_changed_rows(SparkSession.active(), contender, numbers, folder)
    shutil.rmtree(folder)
    for each in last:
        each["changed"] = sizes[each["batch"]]


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """Bytes of the files that are new or larger than they were."""
    return sum(size for path, size in after.items() if size != before.get(path))


if __name__ == "__main__":
    main()
