"""Work `erase`, spread: see `strandline.alone.orders.erase`.

Every row of some keys, and of every key that they were moved from or to, goes: from landing,
quarantine, records and history, from rows under deletion vectors and the files that deletion leaves
behind, and from the statistics in the tables' logs.
"""

from dataclasses import replace
from functools import reduce

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.alone.stores.control import Control
from strandline.alone.stores.noted import Noted
from strandline.errors import Terminal
from strandline.runs.erasure import Erasure
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline_spark import delta, files
from strandline_spark.checkpoint import kept
from strandline_spark.single import single
from strandline_spark.spread.orders.scrub import leftovers, scrubbed
from strandline_spark.spread.store import Store
from strandline_spark.spread.table import TableRun

_PLACE = ("topic_id", "partition", "offset")
_HALVES = 2  # of a move
_NAMED = 5  # of what is found afterwards


def erased(spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Erases the manifest's keys from the table, and looks for them afterwards."""
    table = TableRun(spark, manifest, cut, known)
    return _Erased(spark, manifest, cut, table).receipt()


class _Erased:
    """One table of the run."""

    def __init__(
        self, spark: SparkSession, manifest: Manifest, cut: TableCut, table: TableRun
    ) -> None:
        self._spark, self._manifest, self._cut, self._table = spark, manifest, cut, table
        self._lake = SourceLake(manifest.lake, manifest.source)
        self._history = self._lake.history(cut.table)
        self._records = self._lake.records(cut.table)
        self._shared = {self._lake.quarantine, self._lake.differences}
        self._keyed = {  # the columns of keys
            self._lake.quarantine: ("record_key",),
            self._lake.differences: ("key",),
            self._records: ("entry_key", "entry_other"),
            self._history: ("_key",),
        }

    def receipt(self) -> TableReceipt:
        """What was erased; `Terminal` where something is found afterwards."""
        applied = delta.applied(self._spark, self._history)
        store = Store(self._spark, self._records, applied, self._manifest.number)
        store.forget_failed()
        self._table.take_over(store)
        digests = self._on_record()
        places, names = self._found(digests)
        reach = F.col("t.topic") == self._cut.topic
        landed = delta.remove(self._spark, self._lake.landing, places, reach)
        did = {"keys": digests.count(), "landing": landed}
        for path in (self._lake.quarantine, self._records):
            if self._is(path):
                did[path.rpartition("/")[2]] = self._removed(path, places)
        if self._is(self._lake.differences):
            did["differences"] = self._deleted(self._lake.differences, names)
        self._remove_copies()
        did["history"] = self._from_history(digests)
        scrubbed(self._spark, self._lake.landing, shared=True)
        for path in self._keyed:
            scrubbed(self._spark, path, mark=self._note_again if path == self._history else None)
        self._prove(digests)
        known = self._noted()
        return TableReceipt(
            table=self._cut.table,
            topic=self._cut.topic,
            counts=Counts() if known is None else known.totals,
            history_version=delta.version(self._spark, self._history),
            orphaned_moves=0 if known is None else known.receipt.orphaned_moves,
            changed=True,
            did={**did, "found afterwards": 0},
        )

    def _noted(self) -> Noted | None:
        text = next(delta.texts(self._spark, self._history), None)
        return None if text is None else Noted.from_text(text[1])

    def _remove_copies(self) -> None:
        """What lies beside the stores that are gone on with, of this release or the one before."""
        lake, table = self._lake, self._cut.table
        for path in (lake.shadows, lake.snapshots, lake.changes(table)):
            files.remove(self._spark, path)
        for path in (lake.deleted_keys(table), lake.moves(table)):
            files.remove(self._spark, path)

    def _on_record(self) -> DataFrame:
        """Digests of the keys and of all that hang on them by moves, as the run found them."""
        path = self._lake.erased(self._manifest.number)
        if not delta.exists(self._spark, path):
            given = Erasure(**self._manifest.order).digests
            listed = F.explode(F.array(*map(F.lit, given)))
            wanted = self._spark.range(1).select(listed.alias("digest"))
            found = self._related(wanted).unionByName(wanted).distinct()
            found.coalesce(1).write.format("delta").mode("ignore").save(path)
        return delta.read(self._spark, path)

    def _related(self, wanted: DataFrame) -> DataFrame:
        moved = kept(reduce(DataFrame.unionByName, self._edges()))
        there = moved.select(
            _digest(F.col("a")).alias("digest"), _digest(F.col("b")).alias("other")
        )
        back = there.select(F.col("other").alias("digest"), F.col("digest").alias("other"))
        edges = kept(there.unionByName(back))
        found = frontier = wanted
        while not frontier.isEmpty():
            reached = frontier.join(edges, "digest").select(F.col("other").alias("digest"))
            frontier = kept(reached.distinct().join(found, "digest", "left_anti"))
            found = kept(found.unionByName(frontier))
        return found

    def _edges(self) -> list[DataFrame]:
        """Pairs of keys that a row was moved between, as history and records tell them."""
        history, pairs = delta.read(self._spark, self._history), []
        for other in ("_moved_from", "_moved_to"):
            pair = history.select(F.col("_key").alias("a"), F.col(other).alias("b"))
            pairs.append(pair.where(F.col("b").isNotNull()))
        if delta.exists(self._spark, self._records):
            records = delta.read(self._spark, self._records)
            moved = records.where("entry_key IS NOT NULL AND entry_other IS NOT NULL")
            pairs.append(
                moved.select(F.col("entry_key").alias("a"), F.col("entry_other").alias("b"))
            )
            # Of more than two keys at one place nobody knows which are the halves of one move.
            halves = records.where("entry_link IS NOT NULL").groupBy("entry_link")
            keys = F.sort_array(F.collect_set("entry_key")).alias("keys")
            both = halves.agg(keys).where(F.size("keys") == _HALVES)
            pairs.append(both.select(F.col("keys")[0].alias("a"), F.col("keys")[1].alias("b")))
        return pairs

    def _found(self, digests: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Where the records of the keys lie, and digests of all that these were called.

        Under other rules, such as another `rename`, the key of the same record was another text.
        """
        stores = [path for path in (self._records, self._lake.quarantine) if self._is(path)]
        every = [self._of(path, digests).select(*_PLACE) for path in stores]
        places = kept(reduce(DataFrame.unionByName, every).distinct())
        called = [
            self._at(path, places).select(_digest(F.col(self._keyed[path][0])).alias("digest"))
            for path in stores
        ]
        named = reduce(DataFrame.unionByName, called).where("digest IS NOT NULL")
        return places, kept(named.unionByName(digests).distinct())

    def _at(self, path: str, places: DataFrame) -> DataFrame:
        """The rows of a store that lie at these places."""
        return self._rows(path).join(places, list(_PLACE), "left_semi")

    def _removed(self, path: str, places: DataFrame) -> int:
        """Deletes them, under whatever name; how many there were."""
        count = self._at(path, places).count()
        own = self._own("t.table") if path in self._shared else F.lit(True)
        delta.remove(self._spark, path, places, own)
        return count

    def _is(self, path: str) -> bool:
        return delta.exists(self._spark, path)

    def _from_history(self, digests: DataFrame) -> int:
        """One fenced commit, with the totals that the next run goes on from."""
        if delta.applied(self._spark, self._history) >= self._manifest.number:
            return 0
        rows = self._of(self._history, digests)
        totals = F.count("*").alias("all"), F.count_if("_is_current").alias("open")
        gone = single(rows.agg(*totals))
        if not gone["all"]:
            return 0
        known = self._noted()
        text = "" if known is None else self._without(known, gone["all"], gone["open"]).text()
        with delta.fenced(self._spark, self._manifest.number, text):
            self._deleted(self._history, digests)
        return int(gone["all"])

    @staticmethod
    def _without(known: Noted, rows: int, is_open: int) -> Noted:
        counts = Counts(
            history_rows=known.totals.history_rows - rows,
            current_rows=known.totals.current_rows - is_open,
        )
        receipt = replace(known.receipt, counts=counts, did={})
        # The next run reads all: halves of moves are counted without the erased keys.
        return replace(known, receipt=receipt, facts=None)

    def _note_again(self) -> None:
        """What the next run goes on from; the log would forget it with the commits before."""
        known = self._noted()
        if known is not None:
            nothing = delta.read(self._spark, self._history).limit(0)
            with delta.noting(self._spark, self._manifest.number, known.text()):
                nothing.write.format("delta").mode("append").save(self._history)

    def _rows(self, path: str) -> DataFrame:
        """The table's part of a store."""
        rows = delta.read(self._spark, path)
        return rows.where(self._own("table")) if path in self._shared else rows

    def _own(self, column: str) -> Column:
        return F.col(column) == self._cut.table

    def _of(self, path: str, digests: DataFrame) -> DataFrame:
        """The rows of a store that are of the keys."""
        same = self._same(path, "", "digest")
        return self._rows(path).join(F.broadcast(digests), same, "left_semi")

    def _same(self, path: str, alias: str, other: str) -> Column:
        columns = (F.col(f"{alias}{name}") for name in self._keyed[path])
        found = (F.coalesce(_digest(column) == F.col(other), F.lit(False)) for column in columns)
        return reduce(Column.__or__, found)

    def _deleted(self, path: str, digests: DataFrame) -> int:
        """Deletes the rows of the keys; how many there were."""
        count = self._of(path, digests).count()
        if count:
            same = self._same(path, "t.", "s.digest")
            same = same & self._own("t.table") if path in self._shared else same
            stored = DeltaTable.forPath(self._spark, path).alias("t")
            stored.merge(digests.alias("s"), same).whenMatchedDelete().execute()
        return count

    def _prove(self, digests: DataFrame) -> None:
        found = []
        for path in self._keyed:
            if delta.exists(self._spark, path):
                store = path.rpartition("/")[2]
                rows = self._of(path, digests).count()
                found += [f"{rows} rows in {store}"] if rows else []
                found += [f"{store}/{name}" for name in leftovers(self._spark, path)]
        if found:
            raise Terminal(
                f"{self._cut.topic}: what should be gone is found: {', '.join(found[:_NAMED])}"
                f"{' and more' * (len(found) > _NAMED)}. Keep other writers off the lake, delete "
                "files that they left there, and trigger this again"
            )


def _digest(key: Column) -> Column:
    """See `strandline.runs.erasure.digest`."""
    return F.sha2(F.encode(key, "UTF-8"), 256)
