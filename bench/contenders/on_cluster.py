"""Strandline on a standalone cluster of this machine: executors of one core each."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from strandline_airflow.application import pack

from bench.contenders import spark
from bench.contenders.strandline import Strandline
from bench.pages.events import Busy
from examples.spark_cluster import Cluster
from strandline.runs.spark import SETTINGS

_SETTINGS = {
    "spark.executor.memory": "1g",
    # Not before all are there: what one did alone would count for two.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}


class OnOneExecutor(Strandline):
    """The driver is this process; each executor is behind a worker of its own."""

    name: ClassVar[str] = "one-executor"
    executors: ClassVar[int] = 1

    def start(self, memory: str, cores: int) -> None:
        """A cluster, and a session as the operator would submit it there."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self.home = Path(tempfile.mkdtemp(prefix="strandline-cluster-"))
        events = self.home / "events"
        events.mkdir()
        self.cluster = Cluster(self.home / "daemons", self.executors, pinned=True)
        self.cluster.__enter__()
        own = {
            "spark.master": self.cluster.address,
            "spark.driver.memory": memory,
            "spark.eventLog.dir": events.as_uri(),
        }
        self.spark = spark.session(self.name, memory, cores, SETTINGS | _SETTINGS | own)
        self.spark.sparkContext.addPyFile(str(pack(self.home / "strandline.zip")))

    def stop(self) -> None:
        """Stops Spark and the cluster; what ran when is read before it is deleted."""
        self.spark.stop()
        self.cluster.__exit__()
        (log,) = (self.home / "events").iterdir()
        self.busy = Busy.of(log)
        shutil.rmtree(self.home)

    def beside(self, since: float, until: float) -> dict[str, float]:
        """`idle`: seconds of the batch in which no task ran, so that the driver was alone."""
        return {"idle": until - since - self.busy.seconds(since, until)}


class OnTwoExecutors(OnOneExecutor):
    """The same with two."""

    name: ClassVar[str] = "two-executors"
    executors: ClassVar[int] = 2
