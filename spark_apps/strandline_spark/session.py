"""A local Spark for the command line, tests and benchmarks; clusters configure theirs by submit."""

import os

from pyspark.sql import SparkSession

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"

# On a local disk Hadoop starts `chmod` and `readlink` for each file that it makes: hundreds of them
# a run, each by way of another process unless Java is told otherwise.
FORKING = "-Djdk.lang.Process.launchMechanism=VFORK"
# A run is over before Java has compiled itself, which takes two fifths of its CPU; less where less
# is copied into what is compiled (bench/README.md).
COMPILING = "-XX:MaxInlineLevel=6 -XX:FreqInlineSize=150 -XX:InlineSmallCode=1000"
JAVA_OPTIONS = f"{FORKING} -XX:+UseParallelGC {COMPILING}"

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
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # The classes that Spark generates for one large table are some hundreds, and it remembers the
    # last hundred: each would be compiled, and warm up, once more for the next table or run.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Java never compiles a method that is longer than this, and Spark would have it interpreted.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Noting the Python line of every expression, for errors, is more work than the expression.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


def local(name: str = "strandline", **settings: str) -> SparkSession:
    """A session on this machine's processors; `settings` override by name with dots as `__`."""
    builder = SparkSession.builder.master("local[*]").appName(name)
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    if os.environ.keys() & {"SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS"}:
        # Somebody's own settings for Java: it does not start with two collectors.
        overrides = {"spark.driver.extraJavaOptions": FORKING, **overrides}
    for key, value in {**LOCAL, **overrides}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
