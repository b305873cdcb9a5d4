"""The landed records of a table on record, each under the names that it has: Spark's door to them.

The table is that of `strandline.alone.stores.records`: a table goes either way, in any order.
"""

from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.law.facts import Facts
from strandline_spark import delta
from strandline_spark.spread.rows import ENTERED

_STATISTICS = {
    "delta.dataSkippingStatsColumns": "entry_key,entry_other,entry_link,run",
}


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
        if self.exists() and self.applied < delta.applied(self.spark, self.uri) < self.run:
            between = (F.col("run") > self.applied) & (F.col("run") < self.run)
            DeltaTable.forPath(self.spark, self.uri).delete(between)

    def _rows(self, which: Column) -> DataFrame:
        return delta.read(self.spark, self.uri).where(which).select(*ENTERED.names)

    def put(self, rows: DataFrame) -> None:
        """Enters what this run has read, in place of what it had entered before, if it had."""
        own = rows.select(*ENTERED.names)
        delta.create(self.spark, self.uri, from_arrow_schema(ENTERED), [], _STATISTICS)
        if delta.applied(self.spark, self.uri) < self.run:
            delta.append(own, self.uri, self.run)
        else:
            writer = own.write.format("delta").mode("overwrite")
            writer.option("replaceWhere", f"run = {self.run:d}").save(self.uri)

    def put_anew(self, rows: DataFrame) -> None:
        """Enters all records anew, each with the run that had brought it."""
        own = rows.select(*ENTERED.names)
        delta.create(self.spark, self.uri, from_arrow_schema(ENTERED), [], _STATISTICS)
        writer = own.write.format("delta").mode("overwrite")
        if delta.applied(self.spark, self.uri) < self.run:
            writer = writer.option("txnAppId", delta.APPLICATION)
            writer = writer.option("txnVersion", str(self.run))
        writer.save(self.uri)


def current(rows: DataFrame, facts: Facts) -> DataFrame:
    """Rows of the store, each record under the names that it has now."""
    return newest(rows) if facts.renamed else rows


def newest(rows: DataFrame) -> DataFrame:
    """Each record as it was entered last."""
    last = rows.groupBy("topic_id", "partition", "offset").agg(F.max("run").alias("run"))
    return rows.join(last, last.columns, "left_semi").select(*rows.columns)
