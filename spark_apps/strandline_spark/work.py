"""What a manifest asks for, done: each work has a module of its own."""

import logging
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import PUBLICATION, Manifest, Work
from strandline.runs.receipt import Receipt
from strandline_spark import delta, files
from strandline_spark.compaction import compact
from strandline_spark.erase import erase
from strandline_spark.maintenance import maintain
from strandline_spark.reconcile import reconcile
from strandline_spark.replay import replay, undo
from strandline_spark.requeue import requeue

log = logging.getLogger(__name__)

_DONE_BY: Mapping[Work, Callable[[SparkSession, Manifest], Receipt]] = {
    Work.COMPACT: compact,
    Work.MAINTAIN: maintain,
    Work.REQUEUE: requeue,
    Work.REPLAY: replay,
    Work.UNDO: undo,
    Work.ERASE: erase,
    Work.RECONCILE: reconcile,
}


def done(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Works the manifest off, be it again; whichever DAG has found it open."""
    return _DONE_BY[manifest.work](spark, manifest)


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
    for table in (*made.tables, *made.stores):
        log.info("%s: %s", table.table, table.summary(manifest.work))
    files.write_text(spark, receipt, made.to_json())


def _is_over(spark: SparkSession, manifest: Manifest) -> bool:
    publications = SourceLake(manifest.lake, manifest.source).publications
    return delta.applied(spark, publications, PUBLICATION) >= manifest.number
