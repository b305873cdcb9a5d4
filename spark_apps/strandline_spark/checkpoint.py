"""Rows that are computed once and kept for all that follows in a run."""

from pyspark import StorageLevel
from pyspark.sql import DataFrame

_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"  # Spark's name of the error; it has no class


def kept(rows: DataFrame) -> DataFrame:
    """The rows, computed now and kept where they were, with a plan that begins with them.

    On disk: what is kept in memory is taken from the work, and ten small tables took no longer.

    Their columns are named anew: kept rows have the ids of the columns they came from, so a join
    with those could not tell them apart (SparkException, "conflicting references").
    """
    return rows.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY).toDF(*rows.columns)


def is_lost(error: Exception) -> bool:
    """Whether it says that kept rows are gone, together with the executor that had them."""
    return _LOST in str(error)
