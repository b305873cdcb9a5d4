"""Recorded captures on a cluster: each run is submitted by the project's own operator."""

import json
import sys
import sysconfig
import venv
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest
from stages import cluster_dying
from stages.cluster_dying import Fate
from strandline_airflow.runs.folder import read_receipt, write_manifest
from strandline_airflow.submission.operators import StrandlineSparkOperator

from examples.spark_cluster import Cluster
from strandline.alone.capture import SOURCE, CaptureLake
from strandline.alone.engine import histories
from strandline.cells import rendering
from strandline.changes.record import Record
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest
from strandline.runs.receipt import Receipt
from strandline.runs.way import Way
from strandline.sources import source as source_file

_SUBMIT = Path(sys.executable).with_name("spark-submit")

# Small heaps, and nothing compiled that runs once; the application waits for both executors.
_CONF = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "768m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


def python_without_the_project(folder: Path) -> Path:
    """A Python that has what requirements.txt names, and nothing of this project."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    # Of the folder that it names Python takes no files that say where a checkout lies.
    (packages / "requirements.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder / "bin" / "python"


@dataclass(frozen=True)
class Submission:
    """Submits compactions to the cluster, whose executors have that Python."""

    cluster: Cluster
    python: Path
    folder: Path
    fate: Fate | None = None

    def __call__(self, manifest: str) -> None:
        """Runs the manifest, with what befalls the cluster meanwhile; returns at its end."""
        self.events.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{SOURCE}.toml"
        conf = {**_CONF, "spark.eventLog.dir": self.events.as_uri()}
        settings = "".join(f"{json.dumps(key)} = {json.dumps(of)}\n" for key, of in conf.items())
        path.write_text(
            f'connector = "postgresql"\nlake = "{self.folder}"\n'
            f'[kafka]\ntopic_prefix = "inventory"\n[spark.conf]\n{settings}'
        )
        operator = StrandlineSparkOperator(
            task_id="compact",
            source=source_file.load(path),
            app="compact.py",
            application_args=["--manifest", manifest],
        )
        connection = json.dumps({"conn_type": "spark", "host": self.cluster.address})
        with pytest.MonkeyPatch.context() as environment:
            environment.delenv("PYTHONPATH", raising=False)
            environment.delenv("STRANDLINE_WAY", raising=False)
            environment.setenv("AIRFLOW_CONN_SPARK_DEFAULT", connection)
            environment.setenv("PYSPARK_PYTHON", str(self.python))
            environment.setenv("STRANDLINE_SPARK_SUBMIT", str(_SUBMIT))
            if self.fate is not None:
                environment.setenv(cluster_dying.VARIABLE, json.dumps(asdict(self.fate)))
                environment.setenv(cluster_dying.APPLICATION, operator.application)
                operator.application = cluster_dying.__file__
            operator.execute({})

    @property
    def events(self) -> Path:
        """Where Spark leaves the logs of what happened."""
        return self.folder / "events"

    def executors(self) -> list[set[str]]:
        """Of each application those executors of which a task has succeeded, by their ids."""
        logs = sorted(self.events.iterdir(), key=lambda log: log.stat().st_mtime)
        return [set(_successes(log)) for log in logs]


def _successes(log: Path) -> Sequence[str]:
    events = map(json.loads, log.read_text().splitlines())
    ended = (event for event in events if event["Event"] == "SparkListenerTaskEnd")
    return [
        event["Task Info"]["Executor ID"]
        for event in ended
        if event["Task End Reason"]["Reason"] == "Success"
    ]


class ClusterLake(CaptureLake):
    """A lake of captures whose runs `submit` submits."""

    submit: Callable[[str], None]

    def compact(self, manifest: Manifest) -> Receipt:
        """Applies the manifest."""
        self.submit(write_manifest(manifest))
        return read_receipt(manifest)


def opened(
    folder: Path, records: Sequence[Record], way: Way, submit: Callable[[str], None]
) -> ClusterLake:
    """The lake of a capture with these records, in that folder."""
    lake = SourceLake(folder.as_posix(), SOURCE)
    runs = ClusterLake(lake, None, recorded_at(records), way=way)
    runs.submit = submit
    return runs


def lines(lake: SourceLake, receipts: Sequence[Receipt]) -> list[str]:
    """The histories, a line a version."""
    return [rendering.line(topic, cells) for topic, cells in histories(lake, receipts)]


def untimed(receipt: Receipt) -> Receipt:
    """The receipt, without what the clock has said."""
    tables = tuple(replace(table, seconds=0.0) for table in receipt.tables)
    return replace(receipt, tables=tables, seconds=0.0)
