"""Starts a process that runs DAGs (`dag_runner`), gives it commands, and ends it for certain."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from examples import sessions
from examples.stage import PROJECT


class DagRunError(Exception):
    """A DAG could not be run or did not succeed; the text names the log that says why."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """How a task of a run ended; `map_index` is -1 where the task is not mapped."""

    task: str
    map_index: int
    state: str


@dataclass(frozen=True, slots=True)
class DagRun:
    """A run that succeeded."""

    dag: str
    seconds: float
    tasks: tuple[TaskState, ...]


class DagRuns:
    """A process that runs one DAG at a time, for as long as the `with` block lasts.

    It leads a session of its own, so that Ctrl-C reaches this process only and everything that the
    DAGs started, Spark too, ends with the block.
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = dict(environment)
        self._log = log

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        with self._log.open("ab") as log:
            self._process: subprocess.Popen[str] = subprocess.Popen(
                [sys.executable, "-m", "examples.dag_runner", str(writing)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(writing,),
                start_new_session=True,
                cwd=PROJECT,
                env=self._environment,
                text=True,
            )
        os.close(writing)
        self._events: IO[str] = os.fdopen(reading, encoding="utf-8")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # At once: every step of a run may die at any instruction, that is what they are built for.
        sessions.end([self._process], signal.SIGKILL)
        self._events.close()

    def ready(self) -> list[str]:
        """Waits until Airflow has read the DAGs, names them; `DagRunError` where one is broken."""
        event = self._next("ready")
        if errors := event["errors"]:
            raise DagRunError("\n".join(f"{file}: {why}" for file, why in errors.items()))
        return list(event["dags"])

    def run(self, dag: str, on_task: Callable[[str], None]) -> DagRun:
        """Runs the DAG; tells each task that begins. `DagRunError` where it does not succeed."""
        self._command(dag)
        outcome = self._next("run", on_task)
        tasks = tuple(TaskState(**task) for task in outcome["tasks"])
        if outcome["state"] != "success":
            failed = ", ".join(task.task for task in tasks if task.state == "failed")
            raise DagRunError(f"{dag}: task {failed} failed; its log is in {self._log}")
        return DagRun(dag, outcome["seconds"], tasks)

    def _command(self, line: str) -> None:
        if self._process.stdin is None or self._process.poll() is not None:
            raise self._ended()
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _next(self, wanted: str, on_task: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
        for line in self._events:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == wanted:
                return event
            on_task(event["task"])
        raise self._ended()

    def _ended(self) -> DagRunError:
        return DagRunError(f"the process that runs the DAGs ended; its log is {self._log}")
