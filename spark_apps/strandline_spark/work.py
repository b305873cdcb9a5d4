"""What a manifest asks for, done: each work has a module of its own."""

from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from strandline.manifest import Manifest, Work
from strandline.receipt import Receipt
from strandline_spark.compaction import compact
from strandline_spark.erase import erase
from strandline_spark.maintenance import maintain
from strandline_spark.reconcile import reconcile
from strandline_spark.replay import replay, undo
from strandline_spark.requeue import requeue

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
