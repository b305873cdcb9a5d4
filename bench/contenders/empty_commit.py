"""What a Delta commit costs that brings nothing: the unit in which small runs are counted."""

from typing import ClassVar

from bench.contenders.spark_append import SparkAppend


class EmptyCommit(SparkAppend):
    """Appends no row to the history."""

    name: ClassVar[str] = "empty-commit"

    def apply(self, batch: int) -> None:
        del batch
        for table in self.case.tables:
            standing = self.spark.read.format("delta").load(self._path(table))
            standing.limit(0).write.format("delta").mode("append").save(self._path(table))
