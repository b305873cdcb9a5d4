"""The landed records of a table on record, each under the names that it has: Spark's door to them.

The table is that of `strandline.alone.stores.records`: a table goes either way, in any order.
"""

from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.alone.stores import fencing, records
from strandline.alone.stores.datafiles import Target
from strandline.alone.stores.fencing import Kept
from strandline.alone.stores.tables import opened
from strandline.law.facts import Facts
from strandline_spark import delta
from strandline_spark.spread.filing import Files
from strandline_spark.spread.rows import ENTERED

_VARIED = ("entry_key", "offset", "timestamp", "key", "value")


@dataclass(frozen=True, slots=True)
class Store:
    """The records of a table at `uri`, of which runs up to `applied` are over and `run` is not."""

    spark: SparkSession
    uri: str
    applied: int
    run: int

    def exists(self) -> bool:
        """Whether anything was ever entered."""
        return delta.exists(self.spark, self.uri)

    def known(self) -> DataFrame:
        """What the runs before have entered."""
        return self._rows(F.col("run") <= self.applied)

    def every(self) -> DataFrame:
        """The same and what this run has entered."""
        return self._rows((F.col("run") <= self.applied) | (F.col("run") == self.run))

    def arrived(self) -> DataFrame:
        """What this run has entered."""
        return self._rows(F.col("run") == self.run)

    def forget_failed(self) -> None:
        """Deletes what runs between the history's last one and this one have entered: they failed.

        See `strandline.alone.stores.records.forget_failed`.
        """
        if self.applied < fencing.applied(opened(self.uri)) < self.run:
            between = (F.col("run") > self.applied) & (F.col("run") < self.run)
            DeltaTable.forPath(self.spark, self.uri).delete(between)

    def _rows(self, which: Column) -> DataFrame:
        return delta.read(self.spark, self.uri).where(which).select(*ENTERED.names)

    @property
    def target(self) -> Target:
        """Where tasks write what they read."""
        return Target.of(self.uri, records.TOLD, _VARIED)

    def enter(self, files: Files, *, anew: bool) -> None:
        """Enters what this run has read, once, whichever attempt does; `anew`: and only that."""
        store = Kept(self.uri, properties=records.PROPERTIES)
        table = store.open()
        if fencing.applied(table) < self.run:
            store.add(table, files, ENTERED, self.run, whole=anew)

    def put(self, rows: DataFrame) -> None:
        """Enters rows that another table has, once."""
        if fencing.applied(opened(self.uri)) < self.run:
            delta.append(rows.select(*ENTERED.names), self.uri, self.run)


def current(rows: DataFrame, facts: Facts) -> DataFrame:
    """Rows of the store, each record under the names that it has now."""
    return newest(rows) if facts.renamed else rows


def newest(rows: DataFrame) -> DataFrame:
    """Each record as it was entered last."""
    last = rows.groupBy("topic_id", "partition", "offset").agg(F.max("run").alias("run"))
    return rows.join(last, last.columns, "left_semi").select(*rows.columns)
