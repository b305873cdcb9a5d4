"""Tables worked on side by side in one Spark application, each in a session of its own.

A table that fails does not hold the others; the receipt says what happened to each.
"""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.alone.stores.fencing import OvertakenError
from strandline.alone.stores.quarantine import SCHEMA
from strandline.errors import StrandlineError, Terminal, Transient
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline_spark import delta, faults, gateway, settings
from strandline_spark.checkpoint import is_lost
from strandline_spark.shallow import LISTED

log = logging.getLogger(__name__)

_Work = Callable[[SparkSession, TableCut], TableReceipt]

SIDE_BY_SIDE = 4

_LOOKS = 5  # at one table: more than a run makes commits to it

# What the engine relies on, whatever the cluster's defaults are.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    # Inferring filters from wide rows costs planning time, and memory, and finds nothing here.
    "spark.sql.constraintPropagation.enabled": "false",
    # Looked up for each cell that an interpreted expression reads; its default asks the process's
    # environment each time whether Spark is being tested, and is false then.
    "spark.sql.types.framework.enabled": "false",
    # Every query's plan is printed for a page that nobody looks at.
    "spark.sql.maxPlanStringLength": "1000",
    # Of more values than these a file is told the least and the most only.
    "spark.sql.parquet.pushdown.inFilterThreshold": str(LISTED),
    # A task writes into the few partitions of a table side by side; it would sort all rows else.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # What Delta remembers of a table takes megabytes, for an hour: of the last of hundreds only.
    "spark.databricks.delta.delta.log.cacheSize": "64",
    # Values may have 10 MB. Parquet is read by 4,096 rows at a time by default, its writer looks at
    # its memory after each hundred, and Python would be handed 10,000.
    "spark.sql.parquet.columnarReaderBatchSize": "512",
    "parquet.page.size.row.check.min": "10",
    "parquet.block.size.row.check.min": "10",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    # What a merge reads twice is kept by the engine already.
    "spark.databricks.delta.merge.materializeSource": "none",
}

# Loggers of Spark that have a line for each query and each table, of what is meant to be so: plans
# are cut short (above), and each table has a scheduler pool that nobody has configured.
_CHATTY = (
    "org.apache.spark.sql.catalyst.util.StringUtils",
    "org.apache.spark.scheduler.FairSchedulableBuilder",
)


def prepare(spark: SparkSession, lake: SourceLake) -> None:
    """What every run does first, whatever its work."""
    _hush(spark)
    settings.put(spark, SETTINGS)
    delta.create(spark, lake.quarantine, from_arrow_schema(SCHEMA), [], {})


def _hush(spark: SparkSession) -> None:
    """Keeps out of the driver's log what would bury the rest of it."""
    log4j = gateway.jvm(spark).org.apache.logging.log4j
    for name in _CHATTY:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.ERROR)


def attempts(
    spark: SparkSession, manifest: Manifest, cuts: Iterable[TableCut], work: _Work
) -> tuple[TableReceipt, ...]:
    """What the manifest's work did to each of these, tables of the source or others."""

    def attempt(cut: TableCut) -> TableReceipt:
        made = _attempted(spark, manifest.lake, cut, work)
        made.tell(log, manifest.work)
        return made

    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="table") as tables:
        return tuple(tables.map(attempt, cuts))


def _attempted(spark: SparkSession, lake: str, cut: TableCut, work: _Work) -> TableReceipt:
    """The table's receipt, with how long the work took, be it in vain."""
    began = time.monotonic()
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", cut.table)
    for form in ("callSite.short", "callSite.long"):  # else found for each RDD, by its stack trace
        spark.sparkContext.setLocalProperty(form, cut.table)
    try:
        with faults.explained(lake):
            receipt = _again_if_lost(spark, cut, work)
    except (StrandlineError, PySparkException, Py4JJavaError) as error:
        if not isinstance(error, Terminal):  # whose text says it all
            log.exception("%s: failed", cut.table)
        receipt = TableReceipt(
            table=cut.table,
            topic=cut.topic,
            counts=Counts(),
            error=_sentence(error),
            transient=isinstance(error, Transient) or not isinstance(error, StrandlineError),
        )
    return replace(receipt, seconds=round(time.monotonic() - began, 3))


def _again_if_lost(spark: SparkSession, cut: TableCut, work: _Work) -> TableReceipt:
    """What the work did, from a new look at the table where somebody was faster, or rows are lost.

    Who has committed to it may be another process with this very manifest. What that has committed
    is found then, and both leave the same receipt: one that spoke of a refused commit would hold a
    table that is applied. Rows that were kept for a commit are lost with their executor.
    """
    for _ in range(_LOOKS - 1):
        try:
            return work(session(spark), cut)
        except (*delta.OVERTAKEN, OvertakenError) as error:
            log.info("%s: looked at again, since %s", cut.table, _sentence(error))
        except (PySparkException, Py4JJavaError) as error:
            if not is_lost(error):
                raise
            log.warning("%s: done anew, since an executor that had its rows is gone", cut.table)
    return work(session(spark), cut)


def session(spark: SparkSession) -> SparkSession:
    """A session of its own: settings of one table's commit must not reach another's."""
    made = spark.newSession()
    settings.put(made, SETTINGS)
    return made


def _sentence(error: Exception) -> str:
    """The line that says what went wrong; the log has the rest."""
    if isinstance(error, PythonException):  # a task's: what it raised is behind its traceback
        told = [line for line in str(error).splitlines() if line[:1].strip()]
        return told[-1] if told else type(error).__name__
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception).splitlines()[0]
    return str(error).splitlines()[0]
