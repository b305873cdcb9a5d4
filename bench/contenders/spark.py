"""The Spark of a contender: one session on this machine, with Delta."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from strandline.runs.spark import DELTA_PACKAGE

# What any job needs to read and write Delta here, and nothing that makes it faster or slower.
PLAIN = {
    "spark.jars.packages": DELTA_PACKAGE,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # A machine that others use may stop a process for minutes; that must not end a race.
    "spark.network.timeout": "7200s",
    "spark.executor.heartbeatInterval": "600s",
}


def session(name: str, memory: str, cores: int, settings: Mapping[str, str]) -> SparkSession:
    """A session with Spark's and Delta's defaults but for `settings`."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName(f"bench {name}")
    for key, value in {**PLAIN, "spark.driver.memory": memory, **settings}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
