"""What a manifest asks for, done: each work has a module of its own."""

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from strandline.alone.stores.control import Control
from strandline.alone.work import announced
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import PUBLICATION, Manifest, TableCut, Work
from strandline.runs.receipt import Receipt
from strandline_spark import delta, files
from strandline_spark.compaction import compact
from strandline_spark.erase import erase
from strandline_spark.handout import handed_out
from strandline_spark.maintenance import maintain, tended
from strandline_spark.reconcile import reconcile
from strandline_spark.replay import replay, undo
from strandline_spark.requeue import requeue
from strandline_spark.spread.work import spread

log = logging.getLogger(__name__)

_BY_LAW = "STRANDLINE_SPREAD"  # "law": tables are spread by the law, not by its twin

_DONE_BY: Mapping[Work, Callable[[SparkSession, Manifest], Receipt]] = {
    Work.COMPACT: compact,
    Work.REQUEUE: requeue,
    Work.REPLAY: replay,
    Work.UNDO: undo,
    Work.ERASE: erase,
    Work.RECONCILE: reconcile,
}


def done(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Works the manifest off, be it again; whichever DAG has found it open.

    Small tables go alone, and are handed out to Spark's tasks; the others, and those that cannot be
    done alone, are spread.
    """
    began = time.monotonic()
    known = announced(manifest)
    tables = {receipt.table: receipt for receipt in handed_out(spark, manifest, known)}
    rest = tuple(cut for cut in manifest.tables if cut.table not in tables)
    spread = _spread(spark, manifest, rest, known)
    tables |= {receipt.table: receipt for receipt in spread.tables}
    done = tuple(tables[cut.table] for cut in manifest.tables)
    control = known.records if manifest.work is Work.COMPACT else 0
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, control, seconds, spread.stores)


def _spread(
    spark: SparkSession, manifest: Manifest, cuts: tuple[TableCut, ...], known: Control
) -> Receipt:
    """What was done to these tables, each over many tasks, and to what is no table."""
    if os.environ.get(_BY_LAW) == "law":
        done = spread(spark, replace(manifest, tables=cuts), known) if cuts else ()
        stores = tended(spark, manifest) if manifest.work is Work.MAINTAIN else ()
        return Receipt(manifest.source, manifest.number, done, stores=stores)
    if manifest.work is Work.MAINTAIN:
        return maintain(spark, manifest, cuts)
    if not cuts:
        return Receipt(manifest.source, manifest.number, ())
    return _DONE_BY[manifest.work](spark, replace(manifest, tables=cuts))


def work_off(spark: SparkSession, manifest: Manifest, receipt: str) -> None:
    """Does it and leaves the receipt at the URI; nothing where the run is over.

    Then it is published. A zombie, or a task that was cleared, would apply what was held behind
    the back of the publication: that is for the next run to do.
    """
    # Without a receipt nothing is published, and to look for the file costs less.
    if files.exists(spark, receipt) and _is_over(spark, manifest):
        log.info("Run %d of %s is published already", manifest.number, manifest.source)
        return
    log.info("Run %d of %s: %s", manifest.number, manifest.source, manifest.work)
    made = done(spark, manifest)
    if manifest.work is not Work.COMPACT:  # which has a line as soon as a table is done
        for table in (*made.tables, *made.stores):
            log.info("%s: %s", table.table, table.summary(manifest.work))
    files.write_text(spark, receipt, made.to_json())


def _is_over(spark: SparkSession, manifest: Manifest) -> bool:
    publications = SourceLake(manifest.lake, manifest.source).publications
    return delta.applied(spark, publications, PUBLICATION) >= manifest.number
