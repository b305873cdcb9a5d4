"""A source's runs in a process of their own: `python -m bench.tasks.runs_child FILE`."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench import process_tree
from bench.cases import envelope, landed, reference
from bench.cases.case import names
from bench.cases.columns import COLUMNS, STRANDLINES_NAMES
from bench.cases.judge import judged
from bench.cases.stream import Batch, Shape, stream
from bench.workloads import A_DAY
from strandline.runs.lake import SourceLake
from strandline.sources import source as source_file

_SOURCE = "bench"
_BEGINNING = datetime(2026, 11, 20, tzinfo=UTC)
_ANSWER_SECONDS = 60

Step = Callable[[int], None]  # takes the number of a batch


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    shape = Shape(**job["shape"] | {"batches": tuple(Batch(**b) for b in job["shape"]["batches"])})
    home = Path(job["folder"], "runs")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    send = _sender(shape, job["broker"])
    run, tend = _steps(home, shape, job["broker"])
    started = time.monotonic() - job["launched"]
    measured = []
    for number in range(1, len(shape.batches) + 1):
        send(number)
        counts = number in job["counted"]
        stored, moved = _size(home) if counts else 0, process_tree.transferred(os.getpid())
        began, worked = time.monotonic(), time.process_time()
        run(number)
        seconds, cpu = time.monotonic() - began, time.process_time() - worked
        if counts:
            transfer = asdict(process_tree.transferred(os.getpid()) - moved)
            grown = _size(home) - stored
            told = {"lap": 0, "batch": number, "seconds": seconds, "cpu": cpu, "grown": grown}
            measured.append(told | transfer)
        if number % A_DAY == 0:
            tend(number)
    told = {"started": started, "batches": measured, "wrong": _wrong(home, shape)}
    Path(job["result"]).write_text(json.dumps(told))
    shutil.rmtree(home)


def _sender(shape: Shape, broker: str) -> Step:
    """What sends the records of a batch to the topics of the broker."""
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    tables = []
    for number, name in enumerate(names(shape)):
        changes = stream(shape, number)
        tables.append((name, changes, landed.arrival(changes, shape, number)))
    topics = [NewTopic(envelope.topic(name), shape.partitions, 1) for name in names(shape)]
    for made in admin.create_topics(topics).values():
        made.result(_ANSWER_SECONDS)
    producer = Producer({"bootstrap.servers": broker, "log_level": 0})

    def send(batch: int) -> None:
        for row in (row for piece in landed.slices(tables, shape, batch) for row in _rows(piece)):
            producer.produce(**row)
        if left := producer.flush(_ANSWER_SECONDS):
            raise TimeoutError(f"{left} records were not stored")

    return send


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in batch.select(["topic", "partition", "key", "value", "headers"]).to_pylist():
        headers = [(header["key"], header["value"]) for header in row.pop("headers")]
        yield {**row, "headers": headers}


def _steps(
    home: Path, shape: Shape, broker: str
) -> tuple[Callable[[int], None], Callable[[int], None]]:
    """What a run does, and what tends the source, each in the order of its DAG's tasks."""
    os.environ["AIRFLOW_HOME"] = str(home)
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker, "log_level": 0}}
    os.environ["AIRFLOW_CONN_KAFKA_BENCH"] = json.dumps(connection)
    from strandline_airflow.forms import maintain  # noqa: PLC0415 - Airflow has a home now
    from strandline_airflow.landing import land_run  # noqa: PLC0415 - likewise
    from strandline_airflow.runs import (  # noqa: PLC0415 - likewise
        alone_run,
        compact_run,
        order_run,
    )

    path = home / f"{_SOURCE}.toml"
    path.write_text("\n".join(_spec(home, shape)))
    source = source_file.load(path)
    fields = {name: param.resolve() for name, param in maintain.FORM.params.items()}

    def work_off(manifest: str | None) -> None:
        if manifest is None:
            raise RuntimeError("there was nothing to be done")
        alone_run.work_off(manifest)
        outcome = compact_run.publish(manifest)
        compact_run.refuse(source.name, outcome.work, outcome.failed)

    def run(number: int) -> None:
        due = _BEGINNING + number * timedelta(days=1) / A_DAY
        for group in land_run.plan(source, due).groups:
            land_run.land(source, group, due)
        work_off(compact_run.plan(source, due))

    def tend(number: int) -> None:
        due = _BEGINNING + (number + 0.5) * timedelta(days=1) / A_DAY
        order = maintain.order(source, fields, due)
        work_off(order_run.plan(source, order, due, dry=False))

    return run, tend


def _spec(home: Path, shape: Shape) -> Iterator[str]:
    """The source file; the records have no schemas, so it says the types."""
    yield 'connector = "postgresql"'
    yield 'engine = "alone"'
    yield f'lake = "{home}/lake"'
    yield "[kafka]"
    yield 'connection = "kafka_bench"'
    yield f'topic_prefix = "{envelope.PREFIX}"'
    columns = ", ".join(f'{column.name} = "{column.contract}"' for column in COLUMNS)
    for name in names(shape):
        yield "[[table]]"
        yield f'topic = "{envelope.topic(name)}"'
        yield f'name = "{name}"'
        yield f"columns = {{ {columns} }}"


def _wrong(home: Path, shape: Shape) -> str:
    """What is wrong with the histories in the end."""
    expected, lake = home / "expected.parquet", SourceLake(str(home / "lake"), _SOURCE)
    found = []
    for number, name in enumerate(names(shape)):
        changes = stream(shape, number)
        pq.write_table(reference.history(changes, len(shape.batches)).table(), expected)
        verdict = judged(expected, lake.history(name), STRANDLINES_NAMES)
        if not verdict.right:
            found.append(f"{name}: {verdict.rows} rows for {verdict.expected}")
    return "; ".join(found)


def _size(home: Path) -> int:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
