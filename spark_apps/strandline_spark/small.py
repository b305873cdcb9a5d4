"""What is few is planned for few: a small table's run costs plans and commits, not data.

Unless it is long: then what it takes is memory.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline_spark import landing, memory, settings

log = logging.getLogger(__name__)

# Below this many records compiling the stages takes longer than interpreting them, and one task
# does what many would wait for.
SMALL = 20_000
# A value of more bytes is many such texts while it is decoded: not two of them at a time.
LONG = 1 << 20
# So much of such records, as they landed, for one task: each of its dozen steps has rows of its
# own, some several times as long, and what it has read back from disk until the task ends.
_TASK_BYTES = 32 << 20
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS = {
    **_INTERPRETED,
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Plans stay as they are. Where one task does all, there is little to learn from what a stage
    # had for the next, and each time the rest is planned anew, and Delta lists its files again.
    settings.ADAPTIVE: "false",
}
_ONE_BY_ONE = {
    "spark.sql.files.maxPartitionBytes": str(1 << 40),
    "spark.sql.files.minPartitionNum": "1",
    # Else parts that are small on disk, being compressed, are put together again.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    # By default 4,096 rows of a key, however long, before any of them may be spilled.
    "spark.sql.windowExec.buffer.in.memory.threshold": "1",
    # What is read back of a piece is as long as its longest row, so pieces are as large as can be.
    memory.PIECE: str((1 << 63) - 1),
}


@dataclass(frozen=True, slots=True)
class Few:
    """The tables of which few records arrived: `short` ones, or `long`, and how many bytes."""

    short: frozenset[str] = frozenset()
    long: Mapping[str, int] = field(default_factory=dict)

    def settings(self, table: str) -> Mapping[str, str]:
        """Those of a session in which the table is worked on, besides what all have."""
        if table in self.short:
            return SETTINGS
        if table not in self.long:
            return {}
        tasks = -(-self.long[table] // _TASK_BYTES)
        return {**_ONE_BY_ONE, "spark.sql.shuffle.partitions": str(tasks)}


NONE = Few()


def candidates(manifest: Manifest) -> list[TableCut]:
    """The tables of which few records arrived, short or long."""
    return [cut for cut in manifest.tables if 0 < cut.offsets < SMALL]


def few(spark: SparkSession, manifest: Manifest, *, short: bool = False) -> Few:
    """Looks at the records of tables of which few arrived; `short`: they are known to be so.

    None are known where they can't be read: then each table says so for itself.
    """
    found = candidates(manifest)
    if not found or short:
        return Few(frozenset(cut.table for cut in found))
    try:
        bytes_of = _long(spark, manifest, found)
    except (PySparkException, Py4JJavaError):
        log.exception("%s: the small tables are read one by one", manifest.source)
        return NONE
    long = {cut.table: bytes_of[cut.topic] for cut in found if cut.topic in bytes_of}
    return Few(frozenset(cut.table for cut in found) - long.keys(), long)


def _long(spark: SparkSession, manifest: Manifest, cuts: Iterable[TableCut]) -> dict[str, int]:
    """The topics of which a value is long, and the bytes of all their values."""
    path = SourceLake(manifest.lake, manifest.source).landing
    ranges = [offsets for cut in cuts for offsets in cut.ranges]
    records = landing.records(spark, path, manifest.landing_version, ranges)
    size = F.octet_length("value")
    sizes = records.groupBy("topic").agg(F.max(size).alias("longest"), F.sum(size).alias("bytes"))
    return {row["topic"]: row["bytes"] for row in sizes.where(F.col("longest") > LONG).collect()}


@contextmanager
def compiled(spark: SparkSession, rows: int) -> Iterator[None]:
    """Inside, a small run looks through that many rows of a history: by compiled stages if many."""
    if rows < SMALL:
        yield
        return
    with settings.during(spark, dict.fromkeys(_INTERPRETED)):
        yield
