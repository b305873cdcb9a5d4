"""Work `reconcile`, spread: see `strandline.alone.orders.reconcile`.

Spark joins what stood at the moment with the source's own rows; what a key is called, and what sets
a difference right, says the law.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, DataType, StringType, StructField, StructType

from strandline.alone.stores import landing
from strandline.alone.stores.control import Control
from strandline.cells import widening
from strandline.cells.types import ColumnType
from strandline.changes.columns import KEY
from strandline.changes.key import canonical, names
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.errors import Terminal
from strandline.law import corrections, shard
from strandline.law.shard import Known
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import TableReceipt
from strandline.runs.reconciliation import (
    DIFFERENT,
    EQUAL,
    NOT_IN_HISTORY,
    NOT_IN_SOURCE,
    Reconciliation,
)
from strandline_spark import delta
from strandline_spark.checkpoint import kept
from strandline_spark.delta import quoted
from strandline_spark.shallow import any_of
from strandline_spark.single import single
from strandline_spark.spread import arrival
from strandline_spark.spread.groups import (
    dealt,
    grouped,
    joining,
    most_tasks,
    touched,
)
from strandline_spark.spread.rows import Landed, chunks, uncollected
from strandline_spark.spread.store import Store, current
from strandline_spark.spread.table import TableRun

DIFFERENCES = (
    "table STRING, key STRING, kind STRING, columns ARRAY<STRING>, changed_since BOOLEAN, "
    "as_of TIMESTAMP, run INT"
)
_META = frozenset(name for name, _ in (*COLUMNS, *INTERNAL_COLUMNS))
_SHOWN = pa.schema([(KEY, pa.string()), ("seq", pa.string()), ("scope", pa.string())])
_CELLS = "cells"


def reconciled(
    spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control
) -> TableReceipt:
    """Lists how the table differs from its snapshot; corrects it, if that is ordered."""
    return _Reconciled(spark, manifest, cut, known).receipt()


class _Reconciled(TableRun):
    """One table of the run."""

    def receipt(self) -> TableReceipt:
        """What was found and, where that was ordered, what the history is after it."""
        order = Reconciliation(**self.manifest.order)
        if not delta.exists(self.spark, self.history):
            raise Terminal(f"{self.cut.topic}: there is no history to be compared")
        applied = delta.applied(self.spark, self.history)
        if applied >= self.run:
            return self.compact()
        found = kept(self._compared(order, delta.read(self.spark, self.history)))
        counted = found.groupBy("kind").count()
        did = {row["kind"]: row["count"] for row in counted.collect()}
        self._list(found, order)
        wrong = found.where((F.col("kind") != EQUAL) & ~F.col("changed_since"))
        if order.correct and not wrong.isEmpty():
            store = Store(self.spark, self.lake.records(self.cut.table), applied, self.run)
            given = self._entered(store)
            if given is None:
                given = self._corrections(wrong, order, store)
            return replace(self, given=given, did=did).compact()
        version = delta.version(self.spark, self.history)
        return TableReceipt(
            self.cut.table, self.cut.topic, self.totals(), history_version=version, did=did
        )

    def _compared(self, order: Reconciliation, history: DataFrame) -> DataFrame:
        # What the stream never has is not expected to be as the source has it.
        others = _META | {*self.cut.rules.never_streamed}
        columns = [name for name in history.columns if name not in others]
        rows = _snapshot(self.spark, order)
        new = self.cut.rules.renamed_to
        rows = rows.toDF(*[new.get(name, name) for name in rows.columns])
        rows, shared = _in_types(rows, history, columns)
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
        delta.create(self.spark, self.lake.differences, delta.schema(DIFFERENCES), [], {})
        settled = found.where(F.col("kind") != EQUAL).select(
            F.lit(self.cut.table).alias("table"),
            F.col(KEY).alias("key"), "kind", "columns", "changed_since",
            F.lit(order.as_of).cast("timestamp").alias("as_of"),
            F.lit(self.run).alias("run"),
        )  # fmt: skip
        application = f"{delta.APPLICATION}/{self.cut.table}"
        delta.append(settled, self.lake.differences, self.run, application)

    def _entered(self, store: Store) -> DataFrame | None:
        """The corrections that an attempt before this one has put on record."""
        if not store.exists() or delta.applied(self.spark, store.uri) < self.run:
            return None
        found = kept(arrival.of_run(store.arrived(), self.run))
        return None if found.isEmpty() else found

    def _corrections(self, wrong: DataFrame, order: Reconciliation, store: Store) -> DataFrame:
        """Records that set the differences right, as those of the run."""
        moment = datetime.fromisoformat(order.as_of)
        history = delta.read(self.spark, self.history)
        newest = single(history.agg(_newest(F.lit(order.as_of).cast("timestamp"))))["newest"]
        found = wrong.select(KEY, (F.col("kind") == NOT_IN_SOURCE).alias("absent"), _CELLS)
        shown = self._shown(wrong, store)
        if shown is None:
            none = F.lit(None).cast("string")
            found = found.select("*", none.alias("seq"), none.alias("scope"))
        else:
            found = found.join(shown, KEY, "left")
        types = {
            of.name: widening.stored(of.dataType.simpleString())
            for of in history.schema
            if of.name not in _META
        }
        made = found.mapInArrow(
            _Correcting(types, newest, self.run, moment), from_arrow_schema(arrival.ROW)
        )
        return kept(made)

    def _shown(self, wrong: DataFrame, store: Store) -> DataFrame | None:
        """The last place in the log that the keys have shown, and their scope, where known."""
        self.take_over(store)
        if not store.exists():
            return None
        known = self.known(store)
        every = current(store.known(), known.facts)
        joins = joining(every)
        keys = touched(wrong.select(F.col(KEY).alias("name")), joins)
        rows = keys.of(every.where("entry_key IS NOT NULL"), "entry_key")
        rows = grouped(rows, None if joins is None else keys.of(joins, "entry_key"))
        ordered = dealt(rows, most_tasks(self.spark))
        return ordered.mapInArrow(_Showing(known), from_arrow_schema(_SHOWN))


@dataclass(frozen=True, slots=True)
class _Showing:
    """The last place in the log that each key has shown."""

    known: Known

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        topic = self.known.making.topic
        with uncollected():
            for rows in chunks(batches):
                found = shard.shown(self.known, Landed.of(rows).pile(topic))
                told = [{KEY: key, "seq": of.seq, "scope": of.scope} for key, of in found.items()]
                yield from pa.Table.from_pylist(told, schema=_SHOWN).to_batches()


@dataclass(frozen=True, slots=True)
class _Correcting:
    """Makes records of differences."""

    types: Mapping[str, ColumnType]
    newest: str | None
    run: int
    moment: datetime

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            made = [self._row(row) for row in batch.to_pylist()]
            yield from pa.Table.from_pylist(made, schema=arrival.ROW).to_batches()

    def _row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        change = corrections.correction(
            row[KEY],
            None if row["absent"] else row[_CELLS],
            self.types,
            behind=row["seq"] or self.newest,
            scope=row["scope"],
            run=self.run,
            moment=self.moment,
        )
        record = corrections.written(change, self.types)
        return {**landing.cells(record), "run": self.run}


@dataclass(frozen=True, slots=True)
class _Naming:
    """Adds the canonical key to rows that have only its columns."""

    keys: Sequence[str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.select(list(self.keys)).to_pylist()
            found = [canonical(row) for row in rows]
            columns = [*batch.columns, pa.array(found, pa.string())]
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, _THEIRS])


_THEIRS = "_their_key"


def _snapshot(spark: SparkSession, order: Reconciliation) -> DataFrame:
    """The source's rows."""
    reader = spark.read.format(order.format)
    if order.format == "csv":
        reader = reader.options(header="true", nullValue=order.null, escape='"', multiLine="true")
    if order.format == "json":
        reader = reader.option("primitivesAsString", "true")
    return reader.load(order.snapshot)


def _in_types(
    rows: DataFrame, history: DataFrame, columns: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """The source's rows in the history's types, and the columns that both have.

    Raises `Terminal` where a cell is no value of its column's type: it would be taken for NULL.
    """
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
    first = history.select(KEY).first()
    if first is None:
        raise Terminal("the history has no rows, so nothing is known of its key")
    return list(names(first[KEY]))


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
    theirs = _named(rows, keys).alias("s")
    same = [F.col(f"h.{quoted(name)}").eqNullSafe(F.col(f"s.{quoted(name)}")) for name in keys]
    joined = own.join(theirs, reduce(lambda a, b: a & b, same), "full")
    ours, other = F.col("h._key").isNotNull(), F.col(f"s.{_THEIRS}").isNotNull()
    unequal = F.array_compact(F.array(*(_unequal(name) for name in shared if name not in keys)))
    kind = (
        F.when(~other, NOT_IN_SOURCE)
        .when(~ours, NOT_IN_HISTORY)
        .when(F.size(unequal) > 0, DIFFERENT)
        .otherwise(EQUAL)
    )
    cells = F.struct(*(F.col(f"s.{quoted(name)}") for name in shared))
    told = joined.select(
        F.coalesce(F.col("h._key"), F.col(f"s.{_THEIRS}")).alias("_key"),
        kind.alias("kind"),
        F.when(ours & other, unequal).alias("columns"),
        F.when(kind != EQUAL, cells).alias("cells"),
    )
    later = (F.col("_valid_from") > moment) | (F.col("_valid_to") > moment)
    since = history.where(later).select("_key", F.lit(True).alias("_later")).distinct()
    found = told.join(since, "_key", "left")
    return found.withColumn("changed_since", F.coalesce("_later", F.lit(False))).drop("_later")


def _named(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows with the text of their key."""
    text = StructField(_THEIRS, StringType())
    schema = StructType([*rows.schema.fields, text])
    return rows.mapInArrow(_Naming(keys), schema)


def _newest(moment: Column) -> Column:
    """`newest`: where the log stood at the moment, NULL where there is nothing that old."""
    begun = F.when(F.col("_valid_from") <= moment, F.col("_seq_from"))
    ended = F.when(F.col("_valid_to") <= moment, F.col("_seq_to"))
    return F.greatest(F.max(begun), F.max(ended)).alias("newest")


def _unequal(name: str) -> Column:
    same = F.col(f"h.{quoted(name)}").eqNullSafe(F.col(f"s.{quoted(name)}"))
    return F.when(~same, F.lit(name))
