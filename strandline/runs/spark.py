"""What the engine asks of Spark, however it is started: by `spark-submit` or in a process.

Java's own options are in `runs.jvm`; what holds for each session on any cluster, whatever it
was started with, is `strandline_spark.attempts.SETTINGS`.
"""

DELTA_PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

# Defaults of an application, as they were measured (bench/README.md).
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",  # tables run side by side inside one application
    # Spark's own (50 and 200) cost seconds a commit on small tables.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
    # A third smaller than what Spark writes by itself.
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
    # Parquet numbers the values of a column until the list of them is so long, by default a
    # megabyte: columns of ever new values took more time, and more bytes than their values.
    "spark.hadoop.parquet.dictionary.page.size": str(16 << 10),
    # Noting the Python line of every expression, for errors, is more work than the expression.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # S3A asks a store that is busy (503) again for some minutes. By default it doubles its pause 20
    # times, from a tenth of a second on: nobody would hear of such a store for a day.
    "spark.hadoop.fs.s3a.retry.throttle.limit": "10",
    "spark.driver.memory": "3g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# Where the driver is all there is, nobody else has to reach it.
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
