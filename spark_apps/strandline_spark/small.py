"""What is few is planned for few: a small table's run costs plans and commits, not data.

Unless it is long: then what it takes is memory.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strandline.lake import SourceLake
from strandline.manifest import Manifest, TableCut
from strandline_spark import landing

log = logging.getLogger(__name__)

# Below this many records compiling the stages takes longer than interpreting them, and one task
# does what many would wait for.
SMALL = 20_000
# A value of more bytes is many such texts while it is decoded: not two of them at a time.
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
_ONE_BY_ONE = {
    "spark.sql.files.maxPartitionBytes": str(1 << 40),
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.shuffle.partitions": "1",
    # By default 4,096 rows of a key, however long, before any of them may be spilled.
    "spark.sql.windowExec.buffer.in.memory.threshold": "1",
}


@dataclass(frozen=True, slots=True)
class Few:
    """The tables of which few records arrived: `short` ones, or some that are `long`."""

    short: frozenset[str] = frozenset()
    long: frozenset[str] = frozenset()

    def settings(self, table: str) -> Mapping[str, str]:
        """Those of a session in which the table is worked on, besides what all have."""
        if table in self.short:
            return SETTINGS
        return _ONE_BY_ONE if table in self.long else {}


NONE = Few()


def few(spark: SparkSession, manifest: Manifest) -> Few:
    """Looks at the records of tables of which few arrived.

    None are known where they can't be read: then each table says so for itself.
    """
    cuts = [cut for cut in manifest.tables if 0 < cut.offsets < SMALL]
    if not cuts:
        return NONE
    try:
        topics = _long(spark, manifest, cuts)
    except (PySparkException, Py4JJavaError):
        log.exception("%s: the small tables are read one by one", manifest.source)
        return NONE
    long = frozenset(cut.table for cut in cuts if cut.topic in topics)
    return Few(frozenset(cut.table for cut in cuts) - long, long)


def _long(spark: SparkSession, manifest: Manifest, cuts: Iterable[TableCut]) -> set[str]:
    """The topics of which a value is long."""
    path = SourceLake(manifest.lake, manifest.source).landing
    ranges = [offsets for cut in cuts for offsets in cut.ranges]
    records = landing.records(spark, path, manifest.landing_version, ranges)
    longest = records.groupBy("topic").agg(F.max(F.octet_length("value")).alias("bytes"))
    return {row["topic"] for row in longest.where(F.col("bytes") > LONG).collect()}


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
