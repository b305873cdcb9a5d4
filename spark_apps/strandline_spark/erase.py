"""Work `erase`: every row of some keys, and of every key that they were moved from or to, goes.

From landing, quarantine, changes and history, from the files that deletion leaves behind, and from
the statistics in the tables' logs. Which keys these are is put on record first, as digests, so that
a run that died half way goes on with all of them. The history goes last.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial, reduce

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.errors import Terminal
from strandline.runs.erasure import Erasure
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline_spark import abandoned, apply, delta, files, noted
from strandline_spark.checkpoint import kept
from strandline_spark.compaction import prepare, side_by_side
from strandline_spark.corrections import is_correction
from strandline_spark.keys import digest
from strandline_spark.link import PAIR_DIGITS
from strandline_spark.scrub import leftovers, scrubbed
from strandline_spark.single import single

_NAMED = 5  # of what is found afterwards


def erase(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Erases the manifest's keys from its table, and looks for them afterwards."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    for copies in (lake.shadows, lake.snapshots):
        files.remove(spark, copies)
    done = side_by_side(spark, manifest, lambda own, cut: _Erased(own, manifest, cut).receipt())
    left = tuple(_as_left(spark, lake, table) for table in done)
    return Receipt(
        manifest.source, manifest.number, left, seconds=round(time.monotonic() - began, 3)
    )


def _as_left(spark: SparkSession, lake: SourceLake, table: TableReceipt) -> TableReceipt:
    """With the version that there is now: the files of the one before may be gone already."""
    return replace(table, history_version=delta.version(spark, lake.history(table.table)))


class _Erased:
    """One table of the run."""

    def __init__(self, spark: SparkSession, manifest: Manifest, cut: TableCut) -> None:
        self._spark, self._manifest, self._cut = spark, manifest, cut
        self._lake = SourceLake(manifest.lake, manifest.source)
        self._history = self._lake.history(cut.table)
        self._changes = self._lake.changes(cut.table)
        self._shared = {self._lake.quarantine, self._lake.differences}
        self._keyed = {
            self._lake.quarantine: "record_key",
            self._lake.differences: "key",
            self._changes: "_key",
            self._lake.deleted_keys(cut.table): "_key",
            self._lake.moves(cut.table): "_old",
            self._history: "_key",
        }

    def receipt(self) -> TableReceipt:
        """What was erased; `Terminal` where something is found afterwards."""
        digests = self._on_record()
        did = {"keys": digests.count(), "landing": self._from_landing(digests)}
        for path, column in self._keyed.items():
            if path != self._history and delta.exists(self._spark, path):
                did[path.rpartition("/")[2]] = self._deleted(path, column, digests)
        # They have said where records lie that landing holds for the next run.
        abandoned.forget_before(self._spark, self._lake, self._cut.table, self._manifest.number)
        # The way alone had its records there, and finds them in landing where it is to go on.
        files.remove(self._spark, self._lake.records(self._cut.table))
        did["history"] = self._from_history(digests)
        scrubbed(self._spark, self._lake.landing, shared=True)
        for path in self._keyed:
            mark = partial(self._note_again, digests) if path == self._history else None
            scrubbed(self._spark, path, mark=mark)
        self._prove(digests)
        known = noted.last(self._spark, self._lake, self._cut)
        return TableReceipt(
            table=self._cut.table,
            topic=self._cut.topic,
            counts=Counts(**known.totals),
            orphaned_moves=known.orphans,
            changed=True,
            did={**did, "found afterwards": 0},
        )

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
        there = moved.select(digest("a").alias("digest"), digest("b").alias("other"))
        back = there.select(F.col("other").alias("digest"), F.col("digest").alias("other"))
        edges = kept(there.unionByName(back))
        found = frontier = wanted
        while not frontier.isEmpty():
            reached = frontier.join(edges, "digest").select(F.col("other").alias("digest"))
            frontier = kept(reached.distinct().join(found, "digest", "left_anti"))
            found = kept(found.unionByName(frontier))
        return found

    def _edges(self) -> list[DataFrame]:
        """Pairs of keys that a row was moved between, as every store tells them."""
        pairs = []
        for path in (self._history, self._changes):
            rows = delta.read(self._spark, path)
            for other in ("_moved_from", "_moved_to"):
                pair = rows.select(F.col("_key").alias("a"), F.col(other).alias("b"))
                pairs.append(pair.where(F.col("b").isNotNull()))
        inferred = self._lake.moves(self._cut.table)
        if delta.exists(self._spark, inferred):
            halves = delta.read(self._spark, inferred)
            pairs.append(halves.select(F.col("_old").alias("a"), F.col("_new").alias("b")))
        return pairs

    def _from_landing(self, digests: DataFrame) -> int:
        """First of all: the changes and the quarantine still say where its records lie."""
        places = [
            _of(self._rows(self._changes).where(~is_correction()), "_key", digests).select(
                F.col("_topic_id").alias("topic_id"),
                F.col("_partition").alias("partition"),
                F.col("_offset").alias("offset"),
            ),
            _of(self._rows(self._lake.quarantine), "record_key", digests).select(
                "topic_id", "partition", "offset"
            ),
        ]
        reach = F.col("t.topic") == self._cut.topic
        return delta.remove(
            self._spark, self._lake.landing, reduce(DataFrame.unionByName, places), reach
        )

    def _from_history(self, digests: DataFrame) -> int:
        """One fenced commit, with the totals that the next run goes on from."""
        if delta.applied(self._spark, self._history) >= self._manifest.number:
            return 0
        rows = _of(delta.read(self._spark, self._history), "_key", digests)
        totals = F.count("*").alias("all"), F.count_if("_is_current").alias("open")
        gone = single(rows.agg(*totals))
        if not gone["all"]:
            return 0
        known = noted.last(self._spark, self._lake, self._cut)
        old = known.receipt.counts
        counts = replace(
            old,
            history_rows=old.history_rows - gone["all"],
            current_rows=old.current_rows - gone["open"],
        )
        receipt = replace(known.receipt, counts=counts, did={})
        left = _without(known.waiting, digests)
        note = replace(known, receipt=receipt, waiting=left).text()
        with delta.fenced(self._spark, self._manifest.number, note):
            self._deleted(self._history, "_key", digests)
        return int(gone["all"])

    def _note_again(self, digests: DataFrame) -> None:
        """What the next run goes on from; the log would forget it with the commits before."""
        known = noted.last(self._spark, self._lake, self._cut)
        known = replace(known, waiting=_without(known.waiting, digests))
        nothing = delta.read(self._spark, self._history).limit(0)
        with delta.noting(self._spark, self._manifest.number, known.text()):
            apply.append(nothing, self._history)

    def _rows(self, path: str) -> DataFrame:
        """The table's part of a store."""
        rows = delta.read(self._spark, path)
        return rows.where(self._own("table")) if path in self._shared else rows

    def _own(self, column: str) -> Column:
        return F.col(column) == self._cut.table

    def _deleted(self, path: str, column: str, digests: DataFrame) -> int:
        """Deletes the rows of the keys; how many there were."""
        count = _of(self._rows(path), column, digests).count()
        if count:
            same = digest(f"t.{column}") == F.col("s.digest")
            same = same & self._own("t.table") if path in self._shared else same
            stored = DeltaTable.forPath(self._spark, path).alias("t")
            stored.merge(digests.alias("s"), same).whenMatchedDelete().execute()
        return count

    def _prove(self, digests: DataFrame) -> None:
        found = []
        for path, column in self._keyed.items():
            if delta.exists(self._spark, path):
                store = path.rpartition("/")[2]
                rows = _of(self._rows(path), column, digests).count()
                found += [f"{rows} rows in {store}"] if rows else []
                found += [f"{store}/{name}" for name in leftovers(self._spark, path)]
        if found:
            raise Terminal(
                f"{self._cut.topic}: what should be gone is found: {', '.join(found[:_NAMED])}"
                f"{' and more' * (len(found) > _NAMED)}. Keep other writers off the lake, delete "
                "files that they left there, and trigger this again"
            )


def _without(waiting: Mapping[str, int], digests: DataFrame) -> dict[str, int]:
    """The halves of moves that wait for another, but for those of erased keys."""
    ends = {pair: (pair[:PAIR_DIGITS], pair[PAIR_DIGITS:]) for pair in waiting}
    digit = F.col("digest").substr(1, PAIR_DIGITS).alias("digit")
    gone = digests.select(digit).where(
        F.col("digit").isin(*(d for of in ends.values() for d in of))
    )
    erased = {row["digit"] for row in gone.collect()} if waiting else set()
    return {pair: halves for pair, halves in waiting.items() if erased.isdisjoint(ends[pair])}


def _of(rows: DataFrame, column: str, digests: DataFrame) -> DataFrame:
    named = rows.withColumn("_digest", digest(column))
    same = F.col("_digest") == F.col("digest")
    return named.join(F.broadcast(digests), same, "left_semi").drop("_digest")
