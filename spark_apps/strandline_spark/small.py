"""What is few is planned for few: a small table's run costs plans and commits, not data."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strandline.lake import SourceLake
from strandline.manifest import Manifest
from strandline_spark import landing

log = logging.getLogger(__name__)

# Below this many records compiling the stages takes longer than interpreting them, and one task
# does what many would wait for.
SMALL = 20_000
# A record of more bytes is several such texts while it is decoded: too much to keep many of.
LONG = 1 << 20
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS = {
    **_INTERPRETED,
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def tables(spark: SparkSession, manifest: Manifest) -> frozenset[str]:
    """The tables of which so little arrived that it is quicker kept than read again.

    None where it can't be looked at: then each table says so for itself.
    """
    few = [cut for cut in manifest.tables if 0 < cut.offsets < SMALL]
    if not few:
        return frozenset()
    path = SourceLake(manifest.lake, manifest.source).landing
    ranges = [offsets for cut in few for offsets in cut.ranges]
    records = landing.records(spark, path, manifest.landing_version, ranges)
    long = F.max(F.octet_length("value")) > LONG
    try:
        found = records.groupBy("topic").agg(long.alias("long")).where("long").collect()
    except (PySparkException, Py4JJavaError):
        log.exception("%s: the small tables are read one by one", manifest.source)
        return frozenset()
    topics = {row["topic"] for row in found}
    return frozenset(cut.table for cut in few if cut.topic not in topics)


@contextmanager
def compiled(spark: SparkSession, rows: int) -> Iterator[None]:
    """Inside, a small run looks through that many rows of a history: by compiled stages if many."""
    if rows < SMALL:
        yield
        return
    own = {name: spark.conf.get(name) for name in _INTERPRETED}
    for name in own:
        spark.conf.unset(name)
    try:
        yield
    finally:
        for name, value in own.items():
            spark.conf.set(name, value)
