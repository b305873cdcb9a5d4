"""A local Spark for the command line, tests and benchmarks; clusters configure theirs by submit."""

import os

from pyspark.sql import SparkSession

from strandline import jvm

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

LOCAL = {
    "spark.jars.packages": PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # So much takes five million changes of one key, or a hundred values of 10 MB, in one batch.
    "spark.driver.memory": "3g",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # A third smaller than what Spark writes by itself; what it costs: bench/README.md.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    # The classes that Spark generates for one large table are some hundreds, and it remembers the
    # last hundred: each would be compiled, and warm up, once more for the next table or run.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Java never compiles a method that is longer than this, and Spark would have it interpreted.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Of one key with millions of changes a window reads back at once all that it has put on disk:
    # each piece takes a megabyte of the heap, and more where it is read ahead.
    "spark.unsafe.sorter.spill.read.ahead.enabled": "false",
    # Noting the Python line of every expression, for errors, is more work than the expression.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


def local(name: str = "strandline", **settings: str) -> SparkSession:
    """A session on this machine's processors; `settings` override by name with dots as `__`."""
    builder = SparkSession.builder.master("local[*]").appName(name)
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    for key, value in {**LOCAL, **jvm.settings(os.environ), **overrides}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
