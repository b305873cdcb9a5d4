"""How many bytes the rows are that a batch makes or ends, in a contender's own history."""

from collections import Counter
from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.cases.case import Case
from bench.cases.columns import KEY
from bench.contenders import Contender


def of_changed_rows(
    spark: SparkSession, contender: Contender, batches: Iterable[int], folder: Path
) -> Counter[int]:
    """Bytes by batch, of the rows alone: one Parquet file for each batch, as Spark writes them.

    Rows of an earlier batch that a later one has ended are taken as they are now.
    """
    sizes: Counter[int] = Counter()
    for table in contender.case.tables:
        uri, names = contender.history(table)
        history = spark.read.format("delta").load(uri)
        own = history.withColumn("_micros", F.unix_micros(names["valid_from"]))
        places = reduce(
            DataFrame.unionByName,
            (_changed(spark, contender.case, table, batch) for batch in batches),
        )
        same = (F.col(names[KEY]) == F.col("_id")) & (F.col("_micros") == F.col("_from"))
        rows = own.join(F.broadcast(places), same).drop("_micros", "_id", "_from")
        target = folder / table
        rows.repartition("_batch").write.partitionBy("_batch").parquet(str(target))
        for file in target.glob("_batch=*/*.parquet"):
            sizes[int(file.parent.name.partition("=")[2])] += file.stat().st_size
    return sizes


def _changed(spark: SparkSession, case: Case, table: str, batch: int) -> DataFrame:
    places = spark.read.parquet(str(case.changed(table, batch)))
    return places.select(
        F.col(KEY).alias("_id"), F.col("valid_from").alias("_from"), F.lit(batch).alias("_batch")
    )
