"""One compaction run: the tables of a manifest side by side in one Spark application.

A table that fails does not hold the others; the receipt says what happened to each.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from strandline.errors import StrandlineError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.way import Way
from strandline_spark import (
    abandoned,
    control,
    delta,
    gateway,
    intake,
    memory,
    settings,
    small,
    turn,
)
from strandline_spark.batch import QUARANTINE
from strandline_spark.connectors import CONNECTORS
from strandline_spark.intake import Shared
from strandline_spark.small import Few
from strandline_spark.table import TableRun

log = logging.getLogger(__name__)

_Work = Callable[[SparkSession, TableCut], TableReceipt]

SIDE_BY_SIDE = 4

_LOOKS = 5  # at one table: more than a run makes commits to it

# What the engine relies on, whatever the cluster's defaults are.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    # A column's type widens as `strandline.cells.widening` says, also from integers to decimals.
    "spark.databricks.delta.typeWidening.allowAutomaticWidening": "always",
    # Inferring filters from wide rows costs planning time and finds nothing here.
    "spark.sql.constraintPropagation.enabled": "false",
    # Looked up for each cell that an interpreted expression reads; its default asks the process's
    # environment each time whether Spark is being tested, and is false then.
    "spark.sql.types.framework.enabled": "false",
    # Every query's plan is printed for a page that nobody looks at.
    "spark.sql.maxPlanStringLength": "1000",
    # A task writes into the few partitions of a table side by side; it would sort all rows else.
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    # What Delta remembers of a table takes megabytes, for an hour: of the last of hundreds only.
    "spark.databricks.delta.delta.log.cacheSize": "64",
    # Values may have 10 MB. Parquet is read by 4,096 rows at a time by default, no faster than by
    # 32, and its writer looks at its memory after each hundred.
    "spark.sql.parquet.columnarReaderBatchSize": "32",
    "parquet.page.size.row.check.min": "1",
    "parquet.block.size.row.check.min": "1",
    # What a merge reads twice is kept by the engine already.
    "spark.databricks.delta.merge.materializeSource": "none",
}

BY_LAW = {"spark.sql.parquet.columnarReaderBatchSize": "512"}

# Loggers of Spark that have a line for each query and each table, of what is meant to be so: plans
# are cut short (above), and each table has a scheduler pool that nobody has configured.
_CHATTY = (
    "org.apache.spark.sql.catalyst.util.StringUtils",
    "org.apache.spark.scheduler.FairSchedulableBuilder",
)


def compact(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Applies the manifest; every table that could be applied is committed."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    connector = CONNECTORS[manifest.connector].rules
    own = session(spark, {**SETTINGS, **small.SETTINGS})
    with _shared(own, manifest) as shared:
        few = small.few(own, manifest, short=shared.whole) if shared else small.NONE
        announced = control.announced(session(spark, SETTINGS), manifest, connector)
        refused = _refused(spark, lake)
        abandoned.forget_refusals(spark, lake, manifest, refused)

        def apply(own: SparkSession, cut: TableCut) -> TableReceipt:
            is_small = cut.table in few.short
            given = shared if is_small else None
            run = TableRun(own, manifest, cut, announced, cut.table in refused, is_small, given)
            done = run.compact()
            log.info("%s: %s", cut.table, done.summary(manifest.work))
            return done

        done = side_by_side(spark, manifest, apply, few)
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, announced.records, seconds)


def prepare(spark: SparkSession, lake: SourceLake) -> None:
    """What every run does first, whatever its work."""
    gateway.hasten(spark)
    _hush(spark)
    settings.put(spark, SETTINGS)
    delta.create(spark, lake.quarantine, delta.schema(QUARANTINE), [], {})


def _hush(spark: SparkSession) -> None:
    """Keeps out of the driver's log what would bury the rest of it."""
    log4j = gateway.jvm(spark).org.apache.logging.log4j
    for name in _CHATTY:
        log4j.core.config.Configurator.setLevel(name, log4j.Level.ERROR)


def side_by_side(
    spark: SparkSession, manifest: Manifest, work: _Work, few: Few = small.NONE
) -> tuple[TableReceipt, ...]:
    """What the work did to each table; one that it fails on does not hold the others."""

    def taken(own: SparkSession, cut: TableCut) -> TableReceipt:
        turn.taken(own, manifest, cut)
        return replace(work(own, cut), way=Way.SPREAD)

    return attempts(spark, manifest.tables, taken, few)


def attempts(
    spark: SparkSession,
    cuts: Iterable[TableCut],
    work: _Work,
    few: Few = small.NONE,
    own: Mapping[str, str] = MappingProxyType({}),
) -> tuple[TableReceipt, ...]:
    """What the work did to each of these, tables of the source or others."""
    every = {**SETTINGS, **memory.settings(spark), **own}

    def attempt(cut: TableCut) -> TableReceipt:
        return _attempted(spark, {**every, **few.settings(cut.table)}, cut, work)

    with ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="table") as tables:
        return tuple(tables.map(attempt, cuts))


@contextmanager
def _shared(spark: SparkSession, manifest: Manifest) -> Iterator[Shared | None]:
    """What the small tables share; None where it can't be read: then each says so for itself."""
    cuts = small.candidates(manifest)
    try:
        shared = intake.shared(spark, manifest, cuts) if cuts else None
    except (PySparkException, Py4JJavaError):
        log.exception("%s: the small tables are read one by one", manifest.source)
        shared = None
    try:
        yield shared
    finally:
        if shared is not None:
            shared.release(spark)


def _refused(spark: SparkSession, lake: SourceLake) -> frozenset[str]:
    """The tables of which records were ever put into quarantine."""
    if delta.version(spark, lake.quarantine) == 0:
        return frozenset()
    tables = delta.read(spark, lake.quarantine).select("table").distinct()
    return frozenset(row["table"] for row in tables.collect())


def _attempted(
    spark: SparkSession, own: Mapping[str, str], cut: TableCut, work: _Work
) -> TableReceipt:
    """The table's receipt, with how long the work took, be it in vain."""
    began = time.monotonic()
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", cut.table)
    for form in ("callSite.short", "callSite.long"):  # else found for each RDD, by its stack trace
        spark.sparkContext.setLocalProperty(form, cut.table)
    try:
        receipt = _again_if_overtaken(spark, own, cut, work)
    except (StrandlineError, PySparkException, Py4JJavaError) as error:
        log.exception("%s: failed", cut.table)
        receipt = TableReceipt(
            table=cut.table,
            topic=cut.topic,
            counts=Counts(),
            error=_sentence(error),
            transient=not isinstance(error, StrandlineError),
        )
    return replace(receipt, seconds=round(time.monotonic() - began, 3))


def _again_if_overtaken(
    spark: SparkSession, own: Mapping[str, str], cut: TableCut, work: _Work
) -> TableReceipt:
    """What the work did, from a new look at the table where somebody else has committed to it.

    That may be another process with this very manifest. What it has committed is found then, and
    both leave the same receipt: one that spoke of a refused commit would hold a table that is
    applied.
    """
    for _ in range(_LOOKS - 1):
        try:
            return work(session(spark, own), cut)
        except delta.OVERTAKEN as error:
            log.info("%s: looked at again, since %s", cut.table, _sentence(error))
    return work(session(spark, own), cut)


def session(spark: SparkSession, own: Mapping[str, str]) -> SparkSession:
    """A session of its own: settings of one table's commit must not reach another's."""
    made = spark.newSession()
    settings.put(made, own)
    return made


def _sentence(error: Exception) -> str:
    """The first line of what went wrong; the log has the rest."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception).splitlines()[0]
    return str(error).splitlines()[0]
