"""A history that was made alone, gone on with by Spark: its stores are made of what is on record.

Spark keeps changes on record where the way alone keeps records. So a table's first run here reads
all of its records into stores beside its own, as if they had just landed, and puts these in place.
When a version was recorded stays as it was. Nobody else reads the stores meanwhile, and a
repetition finds the history still made alone, or done.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from strandline.changes.columns import IS_HEAD, KEY, RECORDED_AT, SEQ_FROM, VALID_TO
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.reconciliation import TOPIC
from strandline_spark import apply, control, corrections, delta, files, noted, swap
from strandline_spark.batch import QUARANTINE, Batch, arrived
from strandline_spark.connectors import CONNECTORS
from strandline_spark.swap import Mark, Stores
from strandline_spark.table import TableRun

_APPLICATION = f"{delta.APPLICATION}/turn"
_NUMBER, _BEFORE = "_newest", "_recorded_before"
_PLACE = (KEY, SEQ_FROM)


def taken(spark: SparkSession, manifest: Manifest, cut: TableCut) -> None:
    """Makes the table's history one that Spark goes on with, if it is none."""
    lake = SourceLake(manifest.lake, manifest.source)
    history = lake.history(cut.table)
    if not delta.exists(spark, history):
        return
    left = _left(spark, history)
    if not _is_alone(spark, lake, cut.table, left):
        return
    applied = delta.applied(spark, history)
    before = replace(manifest, number=applied, control=())
    known = control.announced(spark, before, CONNECTORS[manifest.connector].rules)
    aside = replace(lake, shadow=manifest.number)
    files.remove(spark, _folder(aside, cut.table))
    delta.create(spark, aside.quarantine, delta.schema(QUARANTINE), [], {})
    _Beside(spark, before, cut, known, refused=False, small=False, beside=aside).compact()
    made = Stores.of(spark, aside, cut.table)
    forgotten = left.get("forgotten")
    kept = _remembered(made.history, forgotten)
    made = replace(made, history=_as_recorded(kept, delta.read(spark, history)))
    apply.prepare(made.history, history)
    note = noted.last(spark, aside, cut)
    counts = replace(note.receipt.counts, history_rows=kept.count())
    did = left["receipt"]["did"] if left else {}  # where it has swapped, an undo looks for that
    told = replace(note.receipt, counts=counts, did=did)
    note = replace(note, receipt=told, forgotten=forgotten)
    swap.stores(made, lake, cut.table, Mark(applied, note.text(), _APPLICATION))
    files.remove(spark, _folder(aside, cut.table))


@dataclass(frozen=True, slots=True)
class _Beside(TableRun):
    """The table as if its records had just landed."""

    beside: SourceLake | None = None

    @property
    def lake(self) -> SourceLake:
        assert self.beside is not None  # noqa: S101 - whoever makes one says where
        return self.beside

    def landed(self) -> DataFrame:
        """The records up to the run, each as it was entered last."""
        lake = SourceLake(self.manifest.lake, self.manifest.source)
        place = Window.partitionBy("topic_id", "partition", "offset").orderBy(F.desc("run"))
        known = delta.read(self.spark, lake.records(self.cut.table)).where(F.col("run") <= self.run)
        known = known.where(F.col("topic") == self.cut.topic)  # not corrections
        newest = known.withColumn(_NUMBER, F.row_number().over(place)).where(F.col(_NUMBER) == 1)
        timed = F.coalesce("timestamp", F.timestamp_millis(F.lit(0)))
        kept = newest.drop("entry_key", "entry_other", "entry_link", "run", _NUMBER)
        return kept.withColumn("timestamp", timed)

    def arrived(self) -> Batch:
        """See `TableRun`; corrections, which nothing has landed for, are put beside it."""
        batch = arrived(self)
        lake = SourceLake(self.manifest.lake, self.manifest.source)
        known = delta.read(self.spark, lake.records(self.cut.table)).where(F.col("run") <= self.run)
        path = self.lake.changes(self.cut.table)
        made = corrections.of_records(known, delta.read(self.spark, path).schema)
        if made is None:
            return batch
        delta.append(made, path, self.run, f"{delta.APPLICATION}/{TOPIC}")
        return replace(batch, changes=None)  # they are read along with the rest


def _left(spark: SparkSession, history: str) -> Mapping[str, Any]:
    """The last note that a run has left with the history; empty where the log has lost it."""
    found = next(delta.texts(spark, history), None)
    return {} if found is None else json.loads(found[1])


def _is_alone(spark: SparkSession, lake: SourceLake, table: str, left: Mapping[str, Any]) -> bool:
    """Whether the run that left the note went alone.

    Where it is lost, the later of what either way keeps says so.
    """
    if left:
        return "facts" in left
    paths = lake.records(table), lake.changes(table)
    records, changes = (delta.applied(spark, path) for path in paths)
    return records > changes


def _remembered(made: DataFrame, forgotten: str | None) -> DataFrame:
    """The versions without those that are forgotten."""
    if forgotten is None:
        return made
    since = F.col(VALID_TO) >= F.lit(forgotten).cast("timestamp")
    return made.where(F.col(IS_HEAD) | F.col(VALID_TO).isNull() | since)


def _as_recorded(made: DataFrame, standing: DataFrame) -> DataFrame:
    """The versions, each with the time at which it was recorded first."""
    known = standing.select(*_PLACE, F.col(RECORDED_AT).alias(_BEFORE))
    time = F.coalesce(_BEFORE, RECORDED_AT)
    return made.join(known, list(_PLACE), "left").withColumn(RECORDED_AT, time).drop(_BEFORE)


def _folder(lake: SourceLake, table: str) -> str:
    return lake.history(table).rpartition("/")[0]
