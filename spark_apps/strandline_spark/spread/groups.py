"""Which records are folded together: those whose names join their keys, of those that are touched.

A record has up to three names: its key, the other key of its move, and the place that the halves of
a move share. Keys that name each other are one group, which one task has to have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.law.group.edges import joined
from strandline_spark.checkpoint import kept
from strandline_spark.shallow import LISTED
from strandline_spark.spread.rows import GROUP

_NAMES = ("entry_key", "entry_other", "entry_link")
_TASKS = 4  # for each processor
_FEW = 100_000  # names that every task may be told of


@dataclass(frozen=True)
class Touched:
    """Names that a run touches, kept: `name`. Keys are among them; there are at most `count`."""

    names: DataFrame
    count: int

    @property
    def is_few(self) -> bool:
        """Whether every task may be told of them."""
        return self.count <= _FEW

    @cached_property
    def _listed(self) -> Sequence[str]:
        """The names where they are few: only then they come to the driver."""
        return sorted({row["name"] for row in self.names.collect()})

    def of(self, rows: DataFrame, name: str) -> DataFrame:
        """The rows of which that column is one of the names."""
        if self.count <= LISTED:
            return rows.where(F.col(name).isin(self._listed))
        names = self.names.withColumnRenamed("name", name)
        return rows.join(F.broadcast(names) if self.is_few else names, name, "left_semi")


def joining(entries: DataFrame) -> DataFrame | None:
    """Of the records on record those that name more than their key; None where none does."""
    found = entries.where("entry_other IS NOT NULL OR entry_link IS NOT NULL").select(*_NAMES)
    return None if found.isEmpty() else found


def touched(names: DataFrame, joining: DataFrame | None) -> Touched:
    """These names (`name`) and all that they hang together with."""
    found = _kept(names.distinct())
    while joining is not None:
        near = [found.of(joining, name).select(*_NAMES) for name in _NAMES]
        several = _names(near[0].unionByName(near[1]).unionByName(near[2]))
        more = _kept(several.unionByName(found.names).distinct())
        if more.count == found.count:
            break
        found = more
    return found


def grouped(rows: DataFrame, joining: DataFrame | None) -> DataFrame:
    """Rows with the group of their key: `GROUP`; `joining` of at least these."""
    if joining is None:
        return rows.withColumn(GROUP, F.col("entry_key"))
    several = joining.where("entry_link IS NOT NULL").groupBy("entry_link")
    shared = several.agg(F.count_distinct("entry_key").alias("keys")).where("keys > 1")
    by_link = joining.join(shared, "entry_link", "left_semi").select("entry_key", "entry_link")
    by_move = joining.where("entry_other IS NOT NULL").select("entry_key", "entry_other")
    pairs = by_move.toDF("key", "other").unionByName(by_link.toDF("key", "other")).distinct()
    found = [(row["key"], row["other"]) for row in pairs.toLocalIterator()]
    if not found:
        return rows.withColumn(GROUP, F.col("entry_key"))
    members = _members(found)
    table = rows.sparkSession.createDataFrame(members, "entry_key string, root string")
    table = F.broadcast(table) if len(members) <= _FEW else table
    found_group: Column = F.coalesce("root", "entry_key").alias(GROUP)
    return rows.join(table, "entry_key", "left").select(*rows.columns, found_group)


def dealt(rows: DataFrame, tasks: int) -> DataFrame:
    """The rows of each group in one task, side by side."""
    return rows.repartition(tasks, GROUP).sortWithinPartitions(GROUP)


def most_tasks(spark: SparkSession) -> int:
    """Into how many parts a large table is cut."""
    return _TASKS * spark.sparkContext.defaultParallelism


def _members(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Each name with that of its group."""
    names = {name for pair in pairs for name in pair}
    return [(name, group[0]) for group in joined(names, pairs) for name in group]


def _names(rows: DataFrame) -> DataFrame:
    names = F.explode(F.array(*_NAMES)).alias("name")
    return rows.select(names).where("name IS NOT NULL").distinct()


def _kept(names: DataFrame) -> Touched:
    made = kept(names)
    return Touched(made, made.count())
