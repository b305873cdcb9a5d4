"""A local Spark for the command line, tests and benchmarks; that of what was submitted."""

import os
import sys
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from strandline.runs import archive, jars, jvm, spark

LOCAL = {**spark.SETTINGS, **spark.LOOPBACK}


def local(name: str = "strandline", **settings: str) -> SparkSession:
    """A session on this machine's processors; `settings` override by name with dots as `__`."""
    # Tasks run the law: in this Python, which has it, and not in the PATH's.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[*]").appName(name)
    overrides = {key.replace("__", "."): value for key, value in settings.items()}
    own = {**LOCAL, **_delta(os.environ), **jvm.settings(os.environ)}
    for key, value in {**own, **overrides}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def submitted(name: str = "strandline") -> SparkSession:
    """The session of an application that was submitted, by whatever operator or command.

    What was given with it stands; what nobody gave is as the engine asks for it.
    """
    SparkContext._ensure_initialized()  # noqa: SLF001 - what was given is known to the JVM alone
    given = SparkConf()
    builder = SparkSession.builder.appName(name)
    for key, value in spark.SETTINGS.items():
        if not given.contains(key):
            builder = builder.config(key, value)
    return builder.getOrCreate()


def _delta(environment: Mapping[str, str]) -> dict[str, str]:
    """Delta's jars, and the archive of their classes where a run of Airflow has left one."""
    found = jars.at_hand(environment)
    if not found:
        return {"spark.jars.packages": spark.DELTA_PACKAGE}
    mapped = archive.reading(archive.place(environment, found))
    return {**jars.settings(found, environment, {}, local=True), **mapped}
