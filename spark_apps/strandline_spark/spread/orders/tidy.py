"""VACUUM and OPTIMIZE of one table, and which old versions stay readable."""

import time

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from strandline.runs.upkeep import Upkeep
from strandline_spark import delta, settings
from strandline_spark.single import single

_HOUR = 3600
# The settings of a session that vacuums.
VACUUM = {
    # Whoever asks decides how long old versions stay, also below Delta's own week.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # VACUUM lists a table's folders in so many tasks; by default 10,000, a minute for any table.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "32",
}


def tidied(
    spark: SparkSession, path: str, upkeep: Upkeep, published: int | None = None
) -> dict[str, int]:
    """What was done to a table; `published` is a version that has to stay readable.

    VACUUM comes first: what OPTIMIZE replaces was current until now, and goes another time.
    """
    if not delta.exists(spark, path):
        return {}
    if upkeep.vacuum:
        hours = _kept_hours(spark, path, upkeep.keep_hours, published)
        if hours is not None:
            settings.put(spark, VACUUM)
            DeltaTable.forPath(spark, path).vacuum(hours)
    if not upkeep.optimize:
        return {}
    done = DeltaTable.forPath(spark, path).optimize().executeCompaction()
    metrics = single(done)["metrics"]
    return {"files merged": metrics["numFilesRemoved"], "files made": metrics["numFilesAdded"]}


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    """Both counts together."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _kept_hours(spark: SparkSession, path: str, hours: int, published: int | None) -> float | None:
    """For how long VACUUM is to keep what is no longer current; None where nothing may go.

    A version needs its files from the commit after it on, however long ago that was. VACUUM counts
    from its own clock, so this does, too.
    """
    if published is None or delta.version(spark, path) <= published:
        return hours
    followed = delta.committed_at(spark, path, published + 1)
    if followed is None:
        return None
    return max(hours, (time.time() - followed) / _HOUR + 1)
