"""How much of its task's memory a window may fill before it puts rows on disk.

A window holds all rows of its partition: of a key with a hundred thousand changes hundreds of
megabytes. What it holds nobody can take from it, so that the first windows of a task would have
everything, and the last ones put piece after piece on disk. Reading a piece back takes a megabyte
of Java's heap until the task ends (Spark 4.2, `UnsafeSorterSpillReader`): a few keys of that kind
would fill it. With equal parts pieces are large, and so are few.
"""

from pyspark.sql import SparkSession

PIECE = "spark.sql.windowExec.buffer.spill.size.threshold"

# Windows in the plan of the longest stage, which makes the versions of orderly keys.
_ABOVE_EACH_OTHER = 8
_LEAST = 16 << 20  # bytes: below this the pieces would be what fills the heap


def settings(spark: SparkSession) -> dict[str, str]:
    """Those of a session in which large tables are worked on, besides what all have.

    None where somebody has told Spark already, or it knows of no executor yet: then its own hold.
    """
    shares = [] if spark.conf.get(PIECE, None) else _shares(spark)
    return {PIECE: str(max(min(shares) // _ABOVE_EACH_OTHER, _LEAST))} if shares else {}


def _shares(spark: SparkSession) -> list[int]:
    """Bytes for a task to sort in, on each executor, where as many run there as can.

    A driver runs no tasks unless it is the only one, and an executor that is only just known has no
    memory yet.
    """
    store = spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001
    found = store.executorList(True)  # those that are active
    executors = [found.apply(number) for number in range(found.size())]
    told = [(executor.maxMemory(), executor.maxTasks()) for executor in executors]
    return [memory // tasks for memory, tasks in told if memory and tasks]
