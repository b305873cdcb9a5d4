"""How much of its task's memory a window may fill before it puts rows on disk.

A window holds all rows of its partition: of a key with a hundred thousand changes hundreds of
megabytes. What it holds nobody can take from it, so that the first windows of a task would have
everything, and the last ones put piece after piece on disk. Reading a piece back takes a megabyte
of Java's heap until the task ends (Spark 4.2, `UnsafeSorterSpillReader`): a few keys of that kind
would fill it. With equal parts pieces are large, and so are few.
"""

from pyspark.sql import SparkSession

PIECE = "spark.sql.windowExec.buffer.spill.size.threshold"

# Windows and sorts, one above the other, in the longest stage that compaction has.
_ABOVE_EACH_OTHER = 8
_LEAST = 16 << 20  # bytes: below this the pieces would be what fills the heap


def settings(spark: SparkSession) -> dict[str, str]:
    """Those of a session in which large tables are worked on, besides what all have."""
    return {PIECE: str(max(_of_a_task(spark) // _ABOVE_EACH_OTHER, _LEAST))}


def _of_a_task(spark: SparkSession) -> int:
    """Bytes for sorting, where as many tasks run in a JVM as can.

    Spark tells of the driver's JVM too, where others run the tasks.
    """
    context = spark.sparkContext
    jvms = context._jsc.sc().statusTracker().getExecutorInfos()  # noqa: SLF001
    tasks = -(-context.defaultParallelism // max(len(jvms) - 1, 1))
    return min(jvm.totalOnHeapStorageMemory() for jvm in jvms) // tasks
