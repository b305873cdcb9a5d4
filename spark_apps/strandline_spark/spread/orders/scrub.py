"""Makes what was deleted from a table unreadable: rows under deletion vectors, old files, old logs.

Deleting leaves a row in its file behind a deletion vector, purging leaves the old file, and either
leaves the smallest and the greatest value of each column in the table's log.
"""

import re
from collections.abc import Callable

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from strandline_spark import delta, files, settings
from strandline_spark.spread.orders.tidy import VACUUM

_NUMBERED = re.compile(r"(\d{20})\.")


def scrubbed(
    spark: SparkSession,
    path: str,
    *,
    shared: bool = False,
    mark: Callable[[], None] | None = None,
) -> None:
    """Leaves only what the newest version holds. Older versions can no longer be read.

    `shared`: somebody else may be writing to the table just now. Files that no commit names yet are
    left alone then, and its log keeps its statistics. `mark` makes the commit that is to be the
    first of the log that stays.
    """
    if not delta.exists(spark, path):
        return
    settings.put(spark, VACUUM)
    place = path.replace("`", "``")
    if shared:
        spark.sql(f"VACUUM delta.`{place}` LITE RETAIN 0 HOURS")
        return
    spark.sql(f"REORG TABLE delta.`{place}` APPLY (PURGE)")
    DeltaTable.forPath(spark, path).vacuum(0)
    if mark is not None:
        mark()
    _cut_log(spark, path)


def leftovers(spark: SparkSession, path: str) -> list[str]:
    """Names of data files in the table's folder that its newest version does not name."""
    live = {name.rpartition("/")[2] for name in delta.read(spark, path).inputFiles()}
    there = {
        name.rpartition("/")[2] for name in files.below(spark, path) if "/_delta_log/" not in name
    }
    return sorted({name for name in there if not name.startswith(".")} - live)


def _cut_log(spark: SparkSession, path: str) -> None:
    """Writes a checkpoint and deletes what lies before it, as Delta itself does after a month."""
    newest = delta.checkpointed(spark, path)
    for name in files.below(spark, f"{path}/_delta_log"):
        number = _NUMBERED.match(name.rpartition("/")[2].lstrip("."))
        if number and int(number[1]) < newest:
            files.remove(spark, name)
