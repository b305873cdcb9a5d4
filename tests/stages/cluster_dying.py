"""`spark_apps/compact.py` of which, once, processes of the cluster die at a step; its arguments.

The steps of a table that is spread are `read` (a task has been handed records of landing), `fold`
(one has been handed what was shuffled), both in a task, whose own executor dies, or the `worker`
above it; and `commit`, in the driver, at which `executors` die, all of them, or the `master`. The
step of a table alone is `alone`: a task is about to commit its history. STRANDLINE_DYING has step,
victim, the file that is made when it comes, and the master's process.
"""

import json
import os
import runpy
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql.classic.dataframe import DataFrame
from strandline_spark import handout
from strandline_spark.spread import replacement

from strandline.alone import work
from strandline.alone.stores import fencing

VARIABLE, APPLICATION = "STRANDLINE_DYING", "STRANDLINE_APPLICATION"
_STEPS = {"arrival": "read", "reading": "read", "onward": "fold", "folding": "fold"}
_VICTIMS = {"executor": "CoarseGrainedExecutorBackend", "worker": "deploy.worker.Worker"}


@dataclass(frozen=True)
class Fate:
    """What is to come; `come` is the file that is there when it has."""

    step: str
    victim: str
    come: str
    master: int

    def at(self, step: str) -> bool:
        """Whether this step is the one, the first time that somebody asks."""
        if step != self.step:
            return False
        try:
            Path(self.come).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def befall(self) -> None:
        """Kills the victims, from wherever this is called."""
        for pid in self._victims():
            os.kill(pid, signal.SIGKILL)

    def _victims(self) -> Iterable[int]:
        if self.victim == "master":
            return [self.master]
        if self.victim == "executors":
            return list(_executors(SparkContext.getOrCreate().applicationId))
        return [_above(_VICTIMS[self.victim])]


def _above(name: str) -> int:
    """The process of that name above this one."""
    pid = os.getpid()
    while name not in Path(f"/proc/{pid}/cmdline").read_text():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    return pid


def _executors(application: str) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
        except OSError:  # it has ended meanwhile
            continue
        if application in words and any(_VICTIMS["executor"] in word for word in words):
            yield int(process.name)


@dataclass(frozen=True)
class Doomed:
    """A task of a map over batches, which dies when it is handed something."""

    task: Any
    step: str
    fate: Fate

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(self._handed(batches))

    def _handed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows and self.fate.at(self.step):
                self.fate.befall()
            yield batch


def prepare(fate: Fate) -> None:
    """Puts the fate to where it comes."""
    each, commit = DataFrame.mapInArrow, replacement.commit

    def each_doomed(frame: DataFrame, task: Any, *given: Any, **named: Any) -> DataFrame:
        step = _STEPS.get(type(task).__module__.rpartition(".")[2], "")
        return each(frame, Doomed(task, step, fate), *given, **named)

    def committed(*given: Any, **named: Any) -> None:
        if fate.at("commit"):
            fate.befall()
        commit(*given, **named)

    def alone(*given: Any) -> Any:
        own = fencing.commit

        def ending(run: Any, text: Any = None, *others: Any, **named: Any) -> Any:
            if text is not None and fate.at("alone"):
                fate.befall()
            return own(run, text, *others, **named)

        fencing.commit = ending
        try:
            return work.done(*given)
        finally:
            fencing.commit = own

    DataFrame.mapInArrow = each_doomed
    replacement.commit = committed
    handout.done = alone


if __name__ == "__main__":
    prepare(Fate(**json.loads(os.environ[VARIABLE])))
    runpy.run_path(os.environ[APPLICATION], run_name="__main__")
