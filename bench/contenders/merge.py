"""The MERGE that people write today to keep an SCD2 table in Delta.

Written as carefully as a good team does: the batch is decoded once and kept, several versions of
a key within it are handled with window functions, and one MERGE with the well-known union trick
closes the standing version (rows with a merge key) and inserts the new ones (rows without). It
trusts that nothing arrives late and knows neither truncates nor moves, as the usual one does.
"""

from typing import ClassVar

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from bench.cases.columns import KEY
from bench.contenders import events, spark
from bench.contenders.contender import Contender

VERSION = (*events.NAMES, "valid_from", "valid_to", "is_current")


class Merge(Contender):
    """With Spark's and Delta's defaults, and deletion vectors on."""

    name: ClassVar[str] = "merge"
    state: ClassVar[str] = "merge"
    vectors: ClassVar[bool] = True
    settings: ClassVar[dict[str, str]] = {}
    spark: SparkSession

    def start(self, memory: str, cores: int) -> None:
        """A session with defaults."""
        self.spark = spark.session(self.name, memory, cores, self.settings)

    def prepare(self) -> None:
        """The history after the base is written down as it must be; nothing has to be computed."""
        for table in self.case.tables:
            expected = self.spark.read.parquet(str(self.case.expected(table, 0)))
            rows = expected.withColumns(
                {name: F.timestamp_micros(name) for name in ("valid_from", "valid_to")}
            )
            writer = rows.select(*VERSION).write.format("delta")
            vectors = str(self.vectors).lower()
            writer.option("delta.enableDeletionVectors", vectors).save(self._path(table))

    def apply(self, batch: int) -> None:
        """Table after table, as the usual loop does."""
        for table in self.case.tables:
            if self.case.ranges(table, batch):
                self._merge(versions(events.changes(self.spark, self.case, table, batch)), table)

    def _merge(self, batch: DataFrame, table: str) -> None:
        kept = batch.persist()
        closing = kept.where("number = 1").withColumn("merge_key", F.col(KEY))
        opening = kept.where("op != 'd'").withColumn("merge_key", F.lit(None).cast("bigint"))
        standing = DeltaTable.forPath(self.spark, self._path(table)).alias("t")
        (
            standing.merge(
                closing.unionByName(opening).alias("s"),
                f"t.{KEY} = s.merge_key AND t.is_current",
            )
            .whenMatchedUpdate(set={"valid_to": "s.valid_from", "is_current": "false"})
            .whenNotMatchedInsert(
                "s.merge_key IS NULL", values={name: f"s.{name}" for name in VERSION}
            )
            .execute()
        )
        kept.unpersist()

    def history(self, table: str) -> tuple[str, dict[str, str]]:
        """See `Contender`."""
        return self._path(table), {name: name for name in VERSION}

    def stop(self) -> None:
        """Stops Spark."""
        self.spark.stop()

    def _path(self, table: str) -> str:
        return str(self.folder / table)


class MergeWithoutVectors(Merge):
    """The same without deletion vectors."""

    name: ClassVar[str] = "merge-no-dv"
    state: ClassVar[str] = "merge-no-dv"
    vectors: ClassVar[bool] = False


class MergeOfFew(Merge):
    """For small tables: with as many partitions as cores, else each MERGE writes 200 files."""

    name: ClassVar[str] = "merge-few"
    state: ClassVar[str] = "merge-few"

    def start(self, memory: str, cores: int) -> None:
        """A session with defaults but for the number of partitions."""
        few = {"spark.sql.shuffle.partitions": str(cores)}
        self.spark = spark.session(self.name, memory, cores, few)


def versions(changes: DataFrame) -> DataFrame:
    """Each change as the version that it begins, ended by the next one of its key in the batch.

    `number` is its place among them; of a change that was delivered twice one stays.
    """
    own = Window.partitionBy(KEY).orderBy("lsn")
    following = F.lead("at").over(own)
    return (
        changes.dropDuplicates([KEY, "lsn"])
        .withColumns({"number": F.row_number().over(own), "valid_to": following})
        .withColumnRenamed("at", "valid_from")
        .withColumn("is_current", F.col("valid_to").isNull() & (F.col("op") != "d"))
    )
