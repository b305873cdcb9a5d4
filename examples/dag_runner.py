"""Runs DAGs in this process, on command: one Airflow of its own, without a scheduler.

`python -m examples.dag_runner EVENTS` reads the id of a DAG from each line of standard input, runs
it as `airflow dags test` does, every task in dependency order, and writes what happens as lines of
JSON to the file descriptor EVENTS. Logs go to standard output and error. When standard input ends,
whoever gave the commands is gone: this process ends, and Spark with it.
"""

import json
import queue
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

from airflow import settings
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.listener import get_listener_manager
from airflow.utils.db import initdb
from pluggy import HookimplMarker

from examples import sessions

_hook = HookimplMarker("airflow")


class _Progress:
    """Tells of every task that begins."""

    def __init__(self, events: TextIO) -> None:
        self._events = events

    @_hook
    def on_task_instance_running(self, task_instance: Any) -> None:
        _tell(
            self._events,
            event="task",
            dag=task_instance.dag_id,
            task=task_instance.task_id,
            map_index=task_instance.map_index,
        )


def main() -> None:
    """Runs DAGs until there are no more commands."""
    with open(int(sys.argv[1]), "w", encoding="utf-8", buffering=1) as events:  # noqa: PTH123
        commands = _commands()
        initdb()
        bag = DagBag(settings.DAGS_FOLDER)
        get_listener_manager().add_listener(_Progress(events))
        _tell(events, event="ready", dags=sorted(bag.dags), errors=bag.import_errors)
        for dag_id in iter(commands.get, None):
            _tell(events, event="run", **_run(bag, dag_id))


def _run(bag: DagBag, dag_id: str) -> dict[str, object]:
    started = time.monotonic()
    dag = bag.dags[dag_id]
    for task in dag.tasks:
        task.retries = 0  # somebody is watching: a failure is shown, not waited for
    run = dag.test()
    tasks = [
        {"task": task.task_id, "map_index": task.map_index, "state": task.state}
        for task in run.get_task_instances()
    ]
    seconds = time.monotonic() - started
    return {"dag": dag_id, "state": run.state, "seconds": seconds, "tasks": tasks}


def _commands() -> "queue.SimpleQueue[str]":
    """The lines of standard input as they come, read beside the run that is going on."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    return lines


def _read(lines: "queue.SimpleQueue[str]") -> None:
    for line in _lines():
        lines.put(line.strip())
    sessions.end_own()


def _lines() -> Iterator[str]:
    # Not sys.stdin: a task may read or replace it.
    with open(0, encoding="utf-8", closefd=False) as commands:
        yield from commands


def _tell(events: TextIO, **what: object) -> None:
    print(json.dumps(what, default=str), file=events)


if __name__ == "__main__":
    main()
