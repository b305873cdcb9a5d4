"""Files that the tasks of one job write for a table, for one commit to add."""

from dataclasses import dataclass

from pyspark.sql import SparkSession

from strandline.alone.stores.datafiles import DataFile, Target
from strandline_spark.spread.telling import Telling

Files = tuple[DataFile, ...]


@dataclass(frozen=True, slots=True)
class Filing:
    """Where tasks write, and what they have written."""

    target: Target
    telling: Telling[Files]

    @staticmethod
    def of(spark: SparkSession, target: Target) -> "Filing":
        """Of a job to come."""
        return Filing(target, Telling[Files].of(spark, ()))

    @property
    def files(self) -> Files:
        """The files of all its tasks."""
        return self.telling.told

    def tell(self, files: Files) -> None:
        """In a task: these are all of its files."""
        self.telling.tell(0, files)
