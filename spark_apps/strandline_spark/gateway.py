"""PySpark's way to the JVM."""

from typing import Any

from pyspark.sql import SparkSession


def jvm(spark: SparkSession) -> Any:
    """The session's JVM; a session that has none is of Spark Connect, which no run is."""
    return spark._jvm  # noqa: SLF001
