"""What is few is planned for few: a small table's run costs plans and commits, not data."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from strandline.manifest import TableCut

# Below this many records compiling the stages takes longer than interpreting them, and one task
# does what many would wait for.
SMALL = 20_000
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS = {
    **_INTERPRETED,
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def is_small(cut: TableCut) -> bool:
    """True where something arrived, and is quicker kept than read again."""
    return 0 < cut.offsets < SMALL


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
