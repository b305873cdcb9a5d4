"""Strandline itself: what `spark_apps/compact.py` does with the manifest of each batch."""

import os
import shutil
import sys
from pathlib import Path
from typing import ClassVar

from pyspark.sql import SparkSession
from strandline_spark.files import read_text, write_text
from strandline_spark.session import LOCAL
from strandline_spark.spread.store import Store
from strandline_spark.work import done

from bench.cases import repeating
from bench.cases.case import SOURCE
from bench.cases.columns import STRANDLINES_NAMES
from bench.cases.copying import copied
from bench.contenders import spark
from bench.contenders.contender import Contender
from strandline.runs import jars, jvm
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest


class Strandline(Contender):
    """The real application on real manifests, with the settings that its operator submits."""

    name: ClassVar[str] = "strandline"
    state: ClassVar[str] = "strandline"
    spark: SparkSession

    @property
    def lake(self) -> SourceLake:
        return SourceLake(str(self.folder), SOURCE)

    def start(self, memory: str, cores: int) -> None:
        """A session as the operator would submit it."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self.spark = spark.session(
            self.name,
            memory,
            cores,
            LOCAL
            | jars.settings(jars.at_hand(os.environ), os.environ, {}, local=True)
            | jvm.settings(os.environ)
            | {"spark.driver.memory": memory},
        )

    def prepare(self) -> None:
        """Lands the case's records; the base, where there is one, is compacted in one run."""
        shutil.rmtree(self.lake.landing, ignore_errors=True)
        copied(self.case.landing, Path(self.lake.landing))
        if self.case.shape.base:
            self.apply(0)
        if self.case.shape.repeated:
            for table in self.case.tables:
                store = Store(self.spark, self.lake.records(table), 0, 0)
                repeating.repeat(self.lake.history(table), store, self.case.shape.repeated)

    def apply(self, batch: int) -> None:
        """From the manifest's URI to the receipt."""
        manifest = self.case.manifest(str(self.folder), batch)
        home = Path(self.lake.run(manifest.number))
        home.mkdir(parents=True, exist_ok=True)
        (home / "manifest.json").write_text(manifest.to_json())
        read = Manifest.from_json(read_text(self.spark, f"{home}/manifest.json"))
        receipt = done(self.spark, read)
        write_text(self.spark, f"{home}/receipt.json", receipt.to_json())
        failed = [table.error for table in receipt.tables if table.error is not None]
        if failed:
            raise RuntimeError(failed[0])

    def history(self, table: str) -> tuple[str, dict[str, str]]:
        """See `Contender`."""
        return self.lake.history(table), STRANDLINES_NAMES

    def stop(self) -> None:
        """Stops Spark."""
        self.spark.stop()
