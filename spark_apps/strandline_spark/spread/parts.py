"""The parts of a table, in Spark's tasks: what `strandline.law.rounds` asks for, as jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.alone.stores import history
from strandline.alone.stores.datafiles import Target
from strandline.cells import naming
from strandline.changes.columns import IS_HEAD, KEY
from strandline.changes.record import Coordinates
from strandline.law.rounds import Extent, Said
from strandline.law.shard import Known, Told, lie_alike
from strandline_spark import delta
from strandline_spark.checkpoint import kept
from strandline_spark.spread import onward
from strandline_spark.spread.arrival import Framed, Rows
from strandline_spark.spread.filing import Files, Filing
from strandline_spark.spread.folding import fold, write
from strandline_spark.spread.groups import (
    Touched,
    dealt,
    grouped,
    joining,
    most_tasks,
    touched,
)
from strandline_spark.spread.onward import Went
from strandline_spark.spread.reading import read, refused
from strandline_spark.spread.rows import GROUP, PLACE, RECORD, REFUSED
from strandline_spark.spread.store import Store, current
from strandline_spark.spread.telling import Telling

_ENOUGH = 20_000  # rows for a task to be worth its start


@dataclass(slots=True)
class Parts:
    """See `strandline.law.rounds.Parts`; `store` and `history` are those of the table.

    `rows` are to be read; `anew`: they are all of the table's, `only_read`: to hear what they say.
    `has_known`: whether there are records of runs before. `went` and `versions` are what keys came
    to that could go on, and those that were derived, of which `keys` are the names; None: all.
    `target`: where tasks write versions of keys that go on, where they do.
    """

    store: Store
    history: str
    topic: str
    rows: Rows
    has_known: bool
    anew: bool = False
    only_read: bool = False
    went: Went | None = field(default=None, init=False)
    versions: DataFrame | None = field(default=None, init=False)
    keys: Touched | None = field(default=None, init=False)
    target: Target | None = field(default=None, init=False)
    _landed: int = field(default=0, init=False)
    _files: Files = field(default=(), init=False)
    _read_by: Known = field(init=False)
    _on_the_way: DataFrame = field(init=False)
    _every: DataFrame = field(init=False)

    @property
    def is_whole(self) -> bool:
        """Whether all keys of the table were derived."""
        return self.went is None and self.keys is None

    @property
    def _spark(self) -> SparkSession:
        return self.store.spark

    def read(self, known: Known) -> Said:
        """Has the records read, and written beside those on record."""
        _ = known.view  # `Terminal` here, and not in a task, where the table has to stop
        telling = Telling.of(self._spark, Said())
        if self.only_read:
            read(self.rows, known, telling, hands_on=False).write.format("noop").mode(
                "overwrite"
            ).save()
            return telling.told
        entering = Filing.of(self._spark, self.store.target)
        hands_on = not (self.anew and self.has_known)
        found = read(self.rows, known, telling, entering, hands_on=hands_on)
        self._on_the_way, self._read_by = kept(found), known
        self._files, self._landed = entering.files, telling.told.landed
        return telling.told

    def enter(self) -> None:
        """Has that put on record."""
        if not self.only_read:
            self.store.enter(self._files, anew=self.anew)

    def derived(self, now: Known, before: Known, extent: Extent) -> Told:
        """Has keys go on that can, and shards folded of those that cannot."""
        self._every = current(self.store.every(), now.facts)
        joins = joining(self._every) if now.facts.joined else None
        self.went = self.versions = self.keys = self.target = None
        if extent.together or (extent.whole and self.has_known):
            return self._folded(now, before, joins, extent)
        self.target = self._target(now)
        self.went = self._gone_on(now, extent)
        names = self._left(self.went, now, joins)
        if names is None:
            return self.went.told
        self.keys = touched(names, joins)
        told = self._folded(now, before, joins, extent)
        self._take_out(self.keys, now, extent)
        return told + self.went.told

    def _target(self, now: Known) -> Target | None:
        """Where tasks write the history; None: they do not, as there is one, or Delta has to."""
        columns = now.view.columns
        if not all(map(naming.is_plain, columns)) or delta.exists(self._spark, self.history):
            return None
        return history.target(self.history, columns)

    def _take_out(self, keys: Touched, now: Known, extent: Extent) -> None:
        """Takes keys that were derived out of those that went on."""
        assert self.went is not None  # noqa: S101 - keys are derived that could not go on
        if self.target is not None:
            others = self._on_the_way.select(F.col(GROUP).alias("name"))
            if self.went.left is not None:
                others = others.join(self.went.left, "name", "left_anti")
            if keys.of(others, "name").isEmpty():
                return
            self.target = None
            self.went = self._gone_on(now, extent)
        self.went = self.went.without(keys)

    def _gone_on(self, now: Known, extent: Extent) -> Went:
        if not lie_alike(self._read_by, now):
            again = read(self.rows, now, Telling.of(self._spark, Said()))
            self._on_the_way, self._read_by = kept(again), now
        records, heads = self._on_the_way, None
        if delta.exists(self._spark, self.history):
            heads = delta.read(self._spark, self.history).where(IS_HEAD)
            if extent.since is None:
                heads = Touched(records.select(F.col(GROUP).alias("name")), self._landed).of(
                    heads, KEY
                )
        tasks = self._tasks(self._landed if extent.since is None else None)
        return onward.goes_on(records, heads, now, extent.since, tasks, self.target)

    def _left(self, went: Went, now: Known, joins: DataFrame | None) -> DataFrame | None:
        """`name` of keys that are to be derived; None: there are none.

        Those that were left, those known without a version, and those that rows were moved to or
        from in a record of another key.
        """
        mine = self._on_the_way.select(F.col(GROUP).alias("name"))
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

    def _tasks(self, rows: int | None) -> int:
        """In how many parts so many rows are folded; None: nobody knows how many."""
        most = most_tasks(self._spark)
        return most if rows is None else min(most, 1 + rows // _ENOUGH)

    def written(self) -> tuple[Mapping[str, int], Files]:
        """How many versions tasks have written, and the files, where all are to be in such."""
        assert self.went is not None  # noqa: S101 - keys went on to be written
        assert self.target is not None  # noqa: S101
        files, sums = self.went.files, Counter(self.went.sums)
        if self.versions is not None:
            made, others = write(self.versions, self.target)
            sums, files = sums + Counter(made), files + others
        return sums, files

    def refused(self, known: Known, table: str, others: AbstractSet[Coordinates]) -> DataFrame:
        """Of the records that were read those that nobody can read, as the quarantine has them.

        But for those of the runs before that lie there already, which are the `others`.
        """
        found = refused(self.rows, known)
        if others:
            found = found.join(self._places(others), list(PLACE), "left_anti")
        named = found.withColumn("run", F.lit(self.store.run)).withColumn("table", F.lit(table))
        return named.select("table", *RECORD.names, *REFUSED.names, "run")

    def read_again(
        self, known: Known, places: AbstractSet[Coordinates]
    ) -> tuple[set[Coordinates], set[Coordinates]]:
        """At which of these places runs before had read, and where still nobody can read."""
        rows = self.rows.frame.where(F.col("run") < self.store.run)
        rows = rows.join(self._places(places), list(PLACE), "left_semi")
        return _at(rows), _at(refused(Framed(rows), known))

    def _places(self, places: Iterable[Coordinates]) -> DataFrame:
        rows = [(at.topic_id, at.partition, at.offset) for at in places]
        return self._spark.createDataFrame(rows, "topic_id string, partition int, offset long")


def _at(rows: DataFrame) -> set[Coordinates]:
    """Where a few rows lie."""
    found = rows.select("topic", "partition", "offset", "topic_id")
    return {Coordinates(*row) for row in found.toLocalIterator()}
