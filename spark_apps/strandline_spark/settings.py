"""Settings of a session; every table is worked on in a session of its own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


def put(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    """Sets the settings of a session; None takes what was set away."""
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@contextmanager
def during(spark: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Inside, the session has these settings; afterwards those that it had before."""
    before = {name: spark.conf.get(name, None) for name in settings}
    put(spark, settings)
    try:
        yield
    finally:
        put(spark, before)
