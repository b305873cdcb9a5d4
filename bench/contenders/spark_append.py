"""The floor in Spark: decode, one window, append. Nothing is looked up, nothing is replaced.

Into nothing that gives the history; onto a history it is what any way of writing it must do at
least.
"""

from typing import ClassVar

from pyspark.sql import functions as F

from bench.contenders import events
from bench.contenders.merge import VERSION, Merge, versions


class SparkAppend(Merge):
    """See the module."""

    name: ClassVar[str] = "spark-append"
    whole: ClassVar[bool] = False
    settings: ClassVar[dict[str, str]] = {"spark.databricks.delta.snapshotPartitions": "2"}

    def apply(self, batch: int) -> None:
        for table in self.case.tables:
            found = versions(events.changes(self.spark, self.case, table, batch))
            rows = found.where(F.col("op") != "d").select(*VERSION)
            rows.write.format("delta").mode("append").save(self._path(table))
