"""One small database behind the real line: a broker, the DAGs as they are, Spark, a lake.

What a test is not about runs by the same functions without a `spark-submit` of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession
from samples.events import Stream
from stages import airflow_stage
from strandline_airflow.dag import source_dags
from strandline_airflow.runs import compact_run, order_run
from strandline_airflow.runs.folder import read_manifest
from strandline_airflow.runs.publications import Publications
from strandline_spark.work import done

from examples.broker import Broker
from strandline.alone.stores.tables import write_text
from strandline.runs.lake import SourceLake
from strandline.sources import source as source_file


@dataclass
class Shop:
    """Source `shop` with one table, `public.item`, and whatever its file says besides."""

    path: Path
    broker: Broker
    spark: SparkSession | None
    stream: Stream = field(default_factory=Stream)
    sent: int = 0

    @property
    def source(self):
        return source_file.load(self.path)

    @property
    def lake(self):
        return SourceLake(self.source.lake, self.source.name)

    @property
    def publications(self):
        return Publications(self.lake)

    def published(self):
        """The row of the table in the last publication."""
        return next(row for row in self.publications.last() if row.table == "public.item")

    def says(self, text):
        """Adds to the source file."""
        self.path.write_text(self.path.read_text() + text)

    def trigger(self, what, **params):
        """Runs a DAG of the source; the state of each task."""
        dag = next(d for d in source_dags(self.path) if d.dag_id == f"{what}__shop")
        for task in dag.tasks:
            task.retries = 0
        run = dag.test(run_conf=params or None)
        return {task.task_id: str(task.state) for task in run.get_task_instances()}

    def arrive(self):
        """Sends what the stream has that is new, lands it and compacts it."""
        self.land()
        self.work_off(compact_run.plan(self.source, datetime.now(UTC)))

    def order(self, form, **given):
        """Works off what a form asks for; fields that are not given have their defaults."""
        params = {**{name: param.resolve() for name, param in form.params.items()}, **given}
        run_after = datetime.now(UTC)
        order = form.order(self.source, params, run_after)
        return self.work_off(order_run.plan(self.source, order, run_after, dry=params["dry_run"]))

    def work_off(self, path):
        """Runs a manifest in this process and publishes it; returns the receipt of the table."""
        receipt = done(self.spark, read_manifest(path))
        write_text(path.replace("manifest.json", "receipt.json"), receipt.to_json())
        outcome = compact_run.publish(path)
        compact_run.refuse(self.source.name, outcome.work, outcome.failed)
        return next((table for table in receipt.tables if table.table == "public.item"), None)

    def land(self):
        self.broker.replay(self.stream.records[self.sent :])
        self.sent = len(self.stream.records)
        assert "failed" not in self.trigger("land").values()

    def rows(self, path, version=None):
        table = DeltaTable(path, version=version)
        found = QueryBuilder().register("stored", table).execute("SELECT * FROM stored")
        return pa.table(found.read_all()).to_pylist()

    def history(self, version=None, table="public.item"):
        """The versions as one reads them, by key and position: `1: ada|update`."""
        rows = self.rows(self.lake.history(table), version)
        return [
            f"{row['id']}: {row['name']}" + (f"|{row['_closed_by']}" if row["_closed_by"] else "")
            for row in sorted(rows, key=lambda row: (row["id"], row["_seq_from"]))
        ]


@contextmanager
def opened(
    folder: Path,
    broker: Broker,
    spark: SparkSession | None,
    first: str = "",
    lake: str | None = None,
) -> Iterator[Shop]:
    """The source on this broker, for Airflow as for the tests; `first` is in its file, on top.

    Its lake is in the folder, if it is nowhere else.
    """
    airflow_stage.initialise_database()
    sources = folder / "sources"
    sources.mkdir()
    path = sources / "shop.toml"
    path.write_text(
        f'connector = "postgresql"\nlake = "{lake or folder / "lake"}"\n{first}'
        '[kafka]\nconnection = "kafka_shop"\ntopic_prefix = "shop"\n'
    )
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("STRANDLINE_SOURCES", str(sources))
        environment.setenv(
            "AIRFLOW_CONN_KAFKA_SHOP", airflow_stage.kafka_connection(broker.bootstrap)
        )
        broker.create_topic("shop.public.item", partitions=2)
        yield Shop(path, broker, spark)
