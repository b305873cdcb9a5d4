"""A source of its own on a broker: its topics are filled, and its tasks run in this process."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable

from bench.cases import envelope, landed, reference
from bench.cases.case import names
from bench.cases.columns import COLUMNS, STRANDLINES_NAMES
from bench.cases.judge import judged
from bench.cases.stream import Batch, Shape, stream
from bench.workloads import A_DAY
from strandline.runs.lake import SourceLake
from strandline.sources import source as source_file
from strandline.sources.source import Source

_NAME = "bench"
_BEGINNING = datetime(2026, 11, 20, tzinfo=UTC)
_ANSWER_SECONDS = 60
_DAY_SECONDS = 25  # in which a race makes the runs of a day
# What Delta's tables keep, and for how long where nothing is said.
_KEPT = {
    "delta.logRetentionDuration": "interval 30 days",
    "delta.deletedFileRetentionDuration": "interval 7 days",
}
_FLUSHED = 100_000  # records on their way to the broker at one time


def shape_of(job: Mapping[str, Any]) -> Shape:
    """The shape that a race has told its process, as JSON has it."""
    told = job["shape"]
    return Shape(**told | {"batches": tuple(Batch(**batch) for batch in told["batches"])})


def size(home: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


def sender(shape: Shape, broker: str) -> Callable[[int], None]:
    """Creates the topics; what it gives sends the records of a batch to them."""
    admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
    tables = []
    for number, name in enumerate(names(shape)):
        changes = stream(shape, number)
        tables.append((name, changes, landed.arrival(changes, shape, number)))
    topics = [NewTopic(envelope.topic(name), shape.partitions, 1) for name in names(shape)]
    for made in admin.create_topics(topics).values():
        made.result(_ANSWER_SECONDS)
    producer = Producer(
        {
            "bootstrap.servers": broker,
            "log_level": 0,
            "linger.ms": 5,
            "queue.buffering.max.messages": 2 * _FLUSHED,
        }
    )

    def flush() -> None:
        if left := producer.flush(_ANSWER_SECONDS):
            raise TimeoutError(f"{left} records were not stored")

    def send(batch: int) -> None:
        for piece in landed.slices(tables, shape, batch):
            columns = (piece[name].to_pylist() for name in ("topic", "value", "key", "partition"))
            headers = piece["headers"].to_pylist()
            for number, (row, own) in enumerate(
                zip(zip(*columns, strict=True), headers, strict=True)
            ):
                producer.produce(*row, headers=[(each["key"], each["value"]) for each in own])
                if number % _FLUSHED == 0:
                    flush()
        flush()

    return send


@dataclass(frozen=True, slots=True)
class Tasks:
    """What the DAGs' tasks do for a source, in their order; `number` is that of the run.

    Runs go alone, or through Spark on this machine by the operator that the DAGs have.
    """

    source: Source
    through_spark: bool = False

    @staticmethod
    def of(home: Path, shape: Shape, broker: str, *, through_spark: bool = False) -> "Tasks":
        """Those of a source whose lake is in a folder; Airflow has its home there, too."""
        os.environ["AIRFLOW_HOME"] = str(home)
        connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker, "log_level": 0}}
        os.environ["AIRFLOW_CONN_KAFKA_BENCH"] = json.dumps(connection)
        here = {"conn_type": "spark", "host": "local[*]"}
        os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = json.dumps(here)
        path = home / f"{_NAME}.toml"
        path.write_text("\n".join(_spec(home, shape, through_spark=through_spark)))
        return Tasks(source_file.load(path), through_spark)

    def land(self, number: int) -> bool:
        """Lands what has come, as much of it as one run does; whether there was anything."""
        from strandline_airflow.landing import land_run  # noqa: PLC0415 - Airflow has a home now

        due = _due(number)
        groups = land_run.plan(self.source, due).groups
        for group in groups:
            land_run.land(self.source, group, due)
        return bool(groups)

    def compact(self, number: int) -> None:
        """Applies what has landed, and publishes it."""
        from strandline_airflow.runs import compact_run  # noqa: PLC0415 - Airflow has a home now

        self._work_off(compact_run.plan(self.source, _due(number)))

    def tend(self, number: int) -> None:
        """Maintains the source as `[schedule] maintain` has it done, behind that run."""
        from strandline_airflow.forms import maintain  # noqa: PLC0415 - Airflow has a home now
        from strandline_airflow.runs import order_run  # noqa: PLC0415 - likewise

        due = _due(number + 0.5)
        fields = {name: param.resolve() for name, param in maintain.FORM.params.items()}
        order = maintain.order(self.source, fields, due)
        self._work_off(order_run.plan(self.source, order, due, dry=False))

    def hasten(self) -> None:
        """Has the tables of the lake keep for minutes what they would keep for days.

        A race makes the runs of a day in half a minute: without this its logs, and what they know
        of deleted files, would grow as those of no source do.
        """
        home = Path(SourceLake(self.source.lake, self.source.name).home)
        for log in home.rglob("_delta_log"):
            table = DeltaTable(log.parent)
            own = table.metadata().configuration
            kept = {name: _days(own.get(name, default)) for name, default in _KEPT.items()}
            short = {name: f"interval {_DAY_SECONDS * days} seconds" for name, days in kept.items()}
            table.alter.set_table_properties(short)

    def _work_off(self, manifest: str | None) -> None:
        from strandline_airflow.runs import alone_run, compact_run  # noqa: PLC0415 - as above

        if manifest is None:
            raise RuntimeError("there was nothing to be done")
        if self.through_spark:
            self._submit(manifest)
        else:
            alone_run.work_off(manifest)
        outcome = compact_run.publish(manifest)
        compact_run.refuse(self.source.name, outcome.work, outcome.failed)

    def _submit(self, manifest: str) -> None:
        from strandline_airflow.submission.operators import (  # noqa: PLC0415 - as above
            StrandlineSparkOperator,
        )

        StrandlineSparkOperator(
            task_id="compact",
            source=self.source,
            app="compact.py",
            application_args=["--manifest", manifest],
        ).execute({})


def _due(number: float) -> datetime:
    return _BEGINNING + number * timedelta(days=1) / A_DAY


def _days(interval: str) -> int:
    _, days, unit = interval.split()
    if unit != "days":
        raise ValueError(f"{interval} is no number of days")
    return int(days)


def _spec(home: Path, shape: Shape, *, through_spark: bool) -> Iterator[str]:
    """The source file; the records have no schemas, so it says the types."""
    yield 'connector = "postgresql"'
    if not through_spark:
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


def wrong(home: Path, shape: Shape) -> str:
    """What is wrong with the histories in the end."""
    expected, lake = home / "expected.parquet", SourceLake(str(home / "lake"), _NAME)
    found = []
    for number, name in enumerate(names(shape)):
        changes = stream(shape, number)
        pq.write_table(reference.history(changes, len(shape.batches)).table(), expected)
        verdict = judged(expected, lake.history(name), STRANDLINES_NAMES)
        if not verdict.right:
            found.append(f"{name}: {verdict.rows} rows for {verdict.expected}")
    return "; ".join(found)
