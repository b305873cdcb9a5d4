"""The parts of a table, in Spark's tasks: what `strandline.law.rounds` asks for, as jobs."""

from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.changes.columns import IS_HEAD, KEY
from strandline.law.rounds import Extent, Said
from strandline.law.shard import Known, Told
from strandline_spark import delta
from strandline_spark.checkpoint import kept
from strandline_spark.spread import onward
from strandline_spark.spread.folding import fold
from strandline_spark.spread.groups import (
    GROUP,
    Touched,
    dealt,
    grouped,
    joining,
    most_tasks,
    touched,
)
from strandline_spark.spread.onward import Went
from strandline_spark.spread.reading import read
from strandline_spark.spread.rows import RECORD, REFUSED
from strandline_spark.spread.store import Store, current
from strandline_spark.spread.telling import Telling

_ENOUGH = 20_000  # rows for a task to be worth its start


@dataclass(slots=True)
class Parts:
    """See `strandline.law.rounds.Parts`; `store` and `history` are those of the table.

    `rows` are to be read; `anew`: they are all of the table's, `only_read`: to hear what they say.
    `has_known`: whether there are records of runs before. `went` and `versions` are what keys came
    to that could go on, and those that were derived, of which `keys` are the names; None: all.
    """

    store: Store
    history: str
    topic: str
    rows: DataFrame
    has_known: bool
    anew: bool = False
    only_read: bool = False
    went: Went | None = field(default=None, init=False)
    versions: DataFrame | None = field(default=None, init=False)
    keys: Touched | None = field(default=None, init=False)
    _landed: int = field(default=0, init=False)
    _every: DataFrame = field(init=False)

    @property
    def is_whole(self) -> bool:
        """Whether all keys of the table were derived."""
        return self.went is None and self.keys is None

    @property
    def _spark(self) -> SparkSession:
        return self.store.spark

    def read(self, known: Known) -> Said:
        """Has the records read, and entered."""
        telling = Telling.of(self._spark, Said())
        found = read(self.rows, known, telling)
        if self.only_read:
            found.write.format("noop").mode("overwrite").save()
        elif self.anew:
            self.store.put_anew(found)
        else:
            self.store.put(found)
        self._landed = telling.told.landed
        return telling.told

    def derived(self, now: Known, before: Known, extent: Extent) -> Told:
        """Has keys go on that can, and shards folded of those that cannot."""
        self._every = current(self.store.every(), now.facts)
        joins = joining(self._every) if now.facts.joined else None
        self.went = self.versions = self.keys = None
        if extent.together or (extent.whole and self.has_known):
            return self._folded(now, before, joins, extent)
        self.went = self._gone_on(now, extent)
        names = self._left(self.went, now, joins)
        if names is None:
            return self.went.told
        self.keys = touched(names, joins)
        told = self._folded(now, before, joins, extent)
        self.went = self.went.without(self.keys)
        return told + self.went.told

    def _gone_on(self, now: Known, extent: Extent) -> Went:
        records, heads = self._arrived(), None
        if delta.exists(self._spark, self.history):
            heads = delta.read(self._spark, self.history).where(IS_HEAD)
            if extent.since is None:
                keys = records.select(F.col("entry_key").alias(KEY))
                heads = heads.join(keys, KEY, "left_semi")
        tasks = self._tasks(self._landed if extent.since is None else None)
        return onward.goes_on(records, heads, now, extent.since, tasks)

    def _left(self, went: Went, now: Known, joins: DataFrame | None) -> DataFrame | None:
        """`name` of keys that are to be derived; None: there are none.

        Those that were left, those known without a version, and those that rows were moved to or
        from in a record of another key.
        """
        mine = self._arrived().select(F.col("entry_key").alias("name"))
        found = [] if went.left is None else [went.left]
        if now.facts.unseen and self.has_known:
            heads = delta.read(self._spark, self.history).where(IS_HEAD)
            lone = mine.join(heads.select(F.col(KEY).alias("name")), "name", "left_anti")
            known = self.store.known().select(F.col("entry_key").alias("name"))
            found.append(lone.join(known, "name", "left_semi"))
        if joins is not None:
            named = joins.select(F.col("entry_other").alias("name"))
            found.append(mine.join(named, "name", "left_semi"))
        if not found:
            return None
        names = kept(reduce(DataFrame.unionByName, found))
        return None if names.isEmpty() else names

    def _folded(self, now: Known, before: Known, joins: DataFrame | None, extent: Extent) -> Told:
        rows = self._every.where("entry_key IS NOT NULL")
        if self.keys is not None:
            rows = self.keys.of(rows, "entry_key")
            joins = None if joins is None else self.keys.of(joins, "entry_key")
        rows = grouped(rows, joins)
        if extent.together:
            rows = rows.withColumn(GROUP, F.lit(""))
        telling = Telling.of(self._spark, Told())
        tasks = self._tasks(None if self.keys is None else self.keys.count)
        columns = now.view.columns
        self.versions = kept(
            fold(dealt(rows, tasks), now, before, self.store.run, columns, telling)
        )
        return telling.told

    def _arrived(self) -> DataFrame:
        return self.store.arrived().where("entry_key IS NOT NULL")

    def _tasks(self, rows: int | None) -> int:
        """In how many parts so many rows are folded; None: nobody knows how many."""
        most = most_tasks(self._spark)
        return most if rows is None else min(most, 1 + rows // _ENOUGH)

    def refused(self, known: Known, table: str) -> DataFrame:
        """Of the records that arrived those that nobody can read, as the quarantine has them."""
        found = read(self.rows, known, Telling.of(self._spark, Said()))
        found = found.where((F.col("run") == self.store.run) & F.col("reason").isNotNull())
        named = found.withColumn("table", F.lit(table))
        return named.select("table", *RECORD.names, *REFUSED.names, "run")
