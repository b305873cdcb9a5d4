"""What a manifest asks for, done: each work has a module of its own."""

import logging
import time
from dataclasses import replace

from pyspark.sql import SparkSession

from strandline.alone.work import announced
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import PUBLICATION, Manifest, Work
from strandline.runs.receipt import Receipt
from strandline_spark import delta, files
from strandline_spark.handout import handed_out
from strandline_spark.spread.orders.maintenance import tended
from strandline_spark.spread.work import spread

log = logging.getLogger(__name__)


def done(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Works the manifest off, be it again; whichever DAG has found it open.

    Small tables go alone, and are handed out to Spark's tasks; the others, and those that cannot be
    done alone, are spread.
    """
    began = time.monotonic()
    known = announced(manifest)
    tables = {receipt.table: receipt for receipt in handed_out(spark, manifest, known)}
    rest = tuple(cut for cut in manifest.tables if cut.table not in tables)
    if rest:
        found = spread(spark, replace(manifest, tables=rest), known)
        tables |= {receipt.table: receipt for receipt in found}
    stores = tended(spark, manifest) if manifest.work is Work.MAINTAIN else ()
    done = tuple(tables[cut.table] for cut in manifest.tables)
    control = known.records if manifest.work is Work.COMPACT else 0
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, control, seconds, stores)


def work_off(spark: SparkSession, manifest: Manifest, receipt: str) -> None:
    """Does it and leaves the receipt at the URI; nothing where the run is over.

    Then it is published. A zombie, or a task that was cleared, would apply what was held behind
    the back of the publication: that is for the next run to do.
    """
    # Without a receipt nothing is published, and to look for the file costs less.
    if files.exists(spark, receipt) and _is_over(spark, manifest):
        log.info("Run %d of %s is published already", manifest.number, manifest.source)
        return
    log.info("%s", manifest.title)
    files.write_text(spark, receipt, done(spark, manifest).to_json())


def _is_over(spark: SparkSession, manifest: Manifest) -> bool:
    publications = SourceLake(manifest.lake, manifest.source).publications
    return delta.applied(spark, publications, PUBLICATION) >= manifest.number
