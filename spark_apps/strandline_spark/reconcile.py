"""Work `reconcile`: the rows that a history says were there at a moment, against the source's own.

Differences are listed in a table of the lake and, where it is ordered, set right. Keys that changed
after the moment are told apart, and never corrected: the snapshot may have been read just before
or just after the change.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType

from strandline.cells import widening
from strandline.cells.types import ColumnType
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.reconciliation import (
    DIFFERENT,
    EQUAL,
    NOT_IN_HISTORY,
    NOT_IN_SOURCE,
    Reconciliation,
)
from strandline_spark import control, delta, noted
from strandline_spark.changes import quoted
from strandline_spark.checkpoint import kept
from strandline_spark.compaction import SETTINGS, prepare, session, side_by_side
from strandline_spark.connectors import CONNECTORS
from strandline_spark.corrections import Corrected, corrections
from strandline_spark.keys import document
from strandline_spark.shallow import any_of
from strandline_spark.single import single

DIFFERENCES = (
    "table STRING, key STRING, kind STRING, columns ARRAY<STRING>, changed_since BOOLEAN, "
    "as_of TIMESTAMP, run INT"
)
_META = frozenset(name for name, _ in (*COLUMNS, *INTERNAL_COLUMNS))


def reconcile(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Lists how each table of the manifest differs from its snapshot; corrects it, if ordered."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    delta.create(spark, lake.differences, delta.schema(DIFFERENCES), [], {})
    rules = CONNECTORS[manifest.connector].rules
    announced = control.announced(session(spark, SETTINGS), manifest, rules)
    done = side_by_side(
        spark,
        manifest,
        lambda own, cut: _Reconciled(
            own, manifest, cut, announced, refused=True, small=False
        ).receipt(),
    )
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, seconds=seconds)


class _Reconciled(Corrected):
    """One table of the run."""

    def receipt(self) -> TableReceipt:
        """What was found and, where that was ordered, what the history is after it."""
        order = Reconciliation(**self.manifest.order)
        history = delta.read(self.spark, self.lake.history(self.cut.table))
        if delta.applied(self.spark, self.lake.history(self.cut.table)) >= self.run:
            return replace(self.compact(), did=self._listed())
        found = kept(self._compared(order, history))
        counted = found.groupBy("kind").count()
        did = {row["kind"]: row["count"] for row in counted.collect()}
        self._list(found, order)
        wrong = found.where((F.col("kind") != EQUAL) & ~F.col("changed_since"))
        if order.correct and not wrong.isEmpty():
            absent = (F.col("kind") == NOT_IN_SOURCE).alias("absent")
            made = corrections(wrong.select("_key", absent, "cells"), self, order.as_of)
            return replace(replace(self, corrections=made).compact(), did=did)
        return TableReceipt(
            table=self.cut.table,
            topic=self.cut.topic,
            counts=Counts(**noted.last(self.spark, self.lake, self.cut).totals),
            history_version=delta.version(self.spark, self.lake.history(self.cut.table)),
            did=did,
        )

    def _compared(self, order: Reconciliation, history: DataFrame) -> DataFrame:
        columns = [name for name in history.columns if name not in _META]
        rows, shared = _snapshot(self.spark, order, history, columns)
        keys = _key_columns(history)
        missing = [name for name in keys if name not in shared]
        if missing:
            raise Terminal(
                f"the snapshot of {self.cut.topic} has no column '{missing[0]}', which is of its "
                f"key; it has {', '.join(sorted(rows.columns))}"
            )
        empty = rows.where(any_of([F.col(quoted(name)).isNull() for name in keys])).count()
        if empty:
            raise Terminal(
                f"the snapshot of {self.cut.topic} has {empty} rows without a value in a column of "
                f"its key ({', '.join(keys)})"
            )
        twice = rows.groupBy(*map(quoted, keys)).count().where("count > 1").count()
        if twice:
            raise Terminal(f"the snapshot of {self.cut.topic} has {twice} keys more than once")
        return _differences(history, rows, order, keys, shared)

    def _list(self, found: DataFrame, order: Reconciliation) -> None:
        """Puts the differences on record, once."""
        settled = found.where(F.col("kind") != EQUAL).select(
            F.lit(self.cut.table).alias("table"),
            F.col("_key").alias("key"), "kind", "columns", "changed_since",
            F.lit(order.as_of).cast("timestamp").alias("as_of"),
            F.lit(self.run).alias("run"),
        )  # fmt: skip
        application = f"{delta.APPLICATION}/{self.cut.table}"
        delta.append(settled, self.lake.differences, self.run, application)

    def _listed(self) -> dict[str, int]:
        """What an attempt before this one has put on record."""
        rows = delta.read(self.spark, self.lake.differences)
        mine = rows.where((F.col("table") == self.cut.table) & (F.col("run") == self.run))
        counted = mine.groupBy("kind").count()
        return {row["kind"]: row["count"] for row in counted.collect()}


def _snapshot(
    spark: SparkSession, order: Reconciliation, history: DataFrame, columns: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """The source's rows in the history's types, and the columns that both have.

    Raises `Terminal` where a cell is no value of its column's type: it would be taken for NULL.
    """
    reader = spark.read.format(order.format)
    if order.format == "csv":
        reader = reader.options(header="true", nullValue=order.null, escape='"', multiLine="true")
    if order.format == "json":
        reader = reader.option("primitivesAsString", "true")
    rows = reader.load(order.snapshot)
    shared = [name for name in columns if name in rows.columns]
    types = {field.name: field.dataType for field in history.schema}
    cells = {name: _typed(rows, name, types[name]) for name in shared}
    unfit = {name: F.col(quoted(name)).isNotNull() & cell.isNull() for name, cell in cells.items()}
    counted = single(rows.agg(*(F.count_if(so).alias(name) for name, so in unfit.items())))
    for name, count in (counted.asDict() if shared else {}).items():
        if count:
            of = types[name].simpleString()
            raise Terminal(
                f"the snapshot has {count} cells in column '{name}' that are no {of}, which the "
                "history has there: write them as such, or leave the column out"
            )
    return rows.select(*(cell.alias(name) for name, cell in cells.items())), shared


def _typed(rows: DataFrame, name: str, of: DataType) -> Column:
    """A cell in the history's type; bytes are base64 where the snapshot has texts."""
    cell = F.col(quoted(name))
    if isinstance(of, BinaryType) and isinstance(rows.schema[name].dataType, StringType):
        return F.try_to_binary(cell, F.lit("base64"))
    return cell.try_cast(of)


def _key_columns(history: DataFrame) -> list[str]:
    """The names in a canonical key, in their order."""
    first = history.select(F.json_object_keys("_key").alias("names")).first()
    if first is None:
        raise Terminal("the history has no rows, so nothing is known of its key")
    return list(first["names"])


def _differences(
    history: DataFrame, rows: DataFrame, order: Reconciliation, keys: list[str], shared: list[str]
) -> DataFrame:
    """A row for each key of either side: `_key, kind, columns, changed_since, cells`.

    `cells` are those of the snapshot, where they are to tell of a difference.
    """
    moment = F.lit(order.as_of).cast("timestamp")
    ended = F.col("_valid_to").isNotNull() & (F.col("_valid_to") <= moment)
    stands = (F.col("_valid_from") <= moment) & ~ended
    own = history.where(stands).select("_key", *map(quoted, shared)).alias("h")
    theirs = rows.withColumn("_there", F.lit(True)).alias("s")
    same = [F.col(f"h.{quoted(name)}").eqNullSafe(F.col(f"s.{quoted(name)}")) for name in keys]
    joined = own.join(theirs, reduce(lambda a, b: a & b, same), "full")
    ours, other = F.col("h._key").isNotNull(), F.col("s._there").isNotNull()
    unequal = F.array_compact(F.array(*(_unequal(name) for name in shared if name not in keys)))
    known = document({name: _part(theirs, name) for name in keys})
    kind = (
        F.when(~other, NOT_IN_SOURCE)
        .when(~ours, NOT_IN_HISTORY)
        .when(F.size(unequal) > 0, DIFFERENT)
        .otherwise(EQUAL)
    )
    cells = F.struct(*(F.col(f"s.{quoted(name)}") for name in shared))
    told = joined.select(
        F.coalesce(F.col("h._key"), known).alias("_key"),
        kind.alias("kind"),
        F.when(ours & other, unequal).alias("columns"),
        F.when(kind != EQUAL, cells).alias("cells"),
    )
    later = (F.col("_valid_from") > moment) | (F.col("_valid_to") > moment)
    since = history.where(later).select("_key", F.lit(True).alias("_later")).distinct()
    found = told.join(since, "_key", "left")
    return found.withColumn("changed_since", F.coalesce("_later", F.lit(False))).drop("_later")


def _part(rows: DataFrame, name: str) -> tuple[Column, ColumnType]:
    """A part of a key of the snapshot, with its type."""
    of = widening.stored(rows.schema[name].dataType.simpleString())
    return F.col(f"s.{quoted(name)}"), of


def _unequal(name: str) -> Column:
    same = F.col(f"h.{quoted(name)}").eqNullSafe(F.col(f"s.{quoted(name)}"))
    return F.when(~same, F.lit(name))
