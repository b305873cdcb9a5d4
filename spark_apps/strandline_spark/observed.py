"""What an action has observed of the rows that it worked on."""

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Observation, SparkSession

from strandline_spark import gateway

_SECONDS = 30  # the numbers of an action that was carried out are there at once


def told(spark: SparkSession, seen: Observation) -> Mapping[str, Any] | None:
    """The observed numbers; None where the action was not carried out, so they never come.

    Delta skips a write whose transaction another process has committed in the meantime.
    """
    concurrent = gateway.jvm(spark).scala.concurrent  # `get` would wait for ever
    java: Any = seen._jo  # noqa: SLF001
    limit = concurrent.duration.Duration.create(_SECONDS, "seconds")
    try:
        concurrent.Await.ready(java.future(), limit)
    except Py4JJavaError as error:
        if "TimeoutException" not in str(error.java_exception):
            raise
        return None
    return seen.get
