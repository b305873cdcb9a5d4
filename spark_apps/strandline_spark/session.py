"""A local Spark for the command line, tests and benchmarks; clusters configure theirs by submit."""

import os

from pyspark.sql import SparkSession

from strandline.runs import jvm, spark

LOCAL = {"spark.jars.packages": spark.DELTA_PACKAGE, **spark.SETTINGS, **spark.LOOPBACK}


def local(name: str = "strandline", **settings: str) -> SparkSession:
    """A session on this machine's processors; `settings` override by name with dots as `__`."""
    builder = SparkSession.builder.master("local[*]").appName(name)
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    for key, value in {**LOCAL, **jvm.settings(os.environ), **overrides}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
