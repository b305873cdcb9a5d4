"""Processes without the price of their start: forked from one that has imported everything."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PARTS = [str(PROJECT / part) for part in ("tests", ".", "plugins", "spark_apps")]

_FORKED = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Child:
    """A process of the nursery; `reached` says when it is at the step of its fate."""

    process: ForkServerProcess
    reached: Connection
    output: Path

    def wait_for_its_step(self) -> int:
        """Its id, once it is there; AssertionError where it ends before."""
        first = wait([self.reached, self.process.sentinel])
        assert self.reached in first, self.output.read_text()
        return int(self.reached.recv())


def start(
    run: Callable[..., None],
    task: Callable[..., None],
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    output: Path,
) -> Child:
    """Forks a process for the task."""
    _prepare()
    here, there = _FORKED.Pipe(duplex=False)
    process = _FORKED.Process(
        target=run, args=(task, arguments, dict(environment), str(output), there)
    )
    process.start()
    there.close()
    return Child(process, here, output)


def _prepare() -> None:
    """Says what the nursery is to import; it is started with its first child."""
    _FORKED.set_forkserver_preload(["chaos.tasks", "strandline_spark.work"])
    path = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([*PARTS, path])
    try:
        multiprocessing.forkserver.ensure_running()
    finally:
        os.environ["PYTHONPATH"] = path
