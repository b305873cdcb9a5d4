"""Work `reconcile`: the rows that a history says were there at a moment, against the source's own.

Differences are listed in a table of the lake. Keys that changed after the moment are told apart:
the snapshot may have been read just before or just after the change.
"""

import time
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline.errors import Terminal
from strandline.lake import SourceLake
from strandline.manifest import Manifest, TableCut
from strandline.receipt import Counts, Receipt, TableReceipt
from strandline.reconciliation import Reconciliation
from strandline.version import COLUMNS, INTERNAL_COLUMNS
from strandline_spark import delta, noted
from strandline_spark.changes import quoted
from strandline_spark.compaction import prepare, side_by_side
from strandline_spark.memory import kept

DIFFERENCES = (
    "table STRING, key STRING, kind STRING, columns ARRAY<STRING>, changed_since BOOLEAN, "
    "as_of TIMESTAMP, run INT"
)
_META = frozenset(name for name, _ in (*COLUMNS, *INTERNAL_COLUMNS))


def reconcile(spark: SparkSession, manifest: Manifest) -> Receipt:
    """Lists how each table of the manifest differs from its snapshot."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    delta.create(spark, lake.differences, StructType.fromDDL(DIFFERENCES), [], {})
    done = side_by_side(spark, manifest.tables, lambda own, cut: _compared(own, manifest, cut))
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, seconds=seconds)


def _compared(spark: SparkSession, manifest: Manifest, cut: TableCut) -> TableReceipt:
    lake = SourceLake(manifest.lake, manifest.source)
    order = Reconciliation(**manifest.order)
    history = delta.read(spark, lake.history(cut.table))
    columns = [name for name in history.columns if name not in _META]
    rows, shared = _snapshot(spark, order, history, columns)
    keys = _key_columns(history)
    missing = [name for name in keys if name not in shared]
    if missing:
        raise Terminal(
            f"the snapshot of {cut.topic} has no column '{missing[0]}', which is of its key; it "
            f"has {', '.join(sorted(rows.columns))}"
        )
    twice = rows.groupBy(*map(quoted, keys)).count().where("count > 1").count()
    if twice:
        raise Terminal(f"the snapshot of {cut.topic} has {twice} keys more than once")
    found = kept(_differences(_at(history, order), rows, keys, shared))
    counted = found.groupBy("kind").count()
    did = {row["kind"]: row["count"] for row in counted.toLocalIterator()}
    settled = found.where(F.col("kind") != "equal").select(
        F.lit(cut.table).alias("table"),
        F.col("_key").alias("key"), "kind", "columns", "changed_since",
        F.lit(order.as_of).cast("timestamp").alias("as_of"),
        F.lit(manifest.number).alias("run"),
    )  # fmt: skip
    application = f"{delta.APPLICATION}/{cut.table}"
    delta.append(settled, lake.differences, manifest.number, application)
    return TableReceipt(
        table=cut.table,
        topic=cut.topic,
        counts=Counts(**noted.last(spark, lake, cut).totals),
        history_version=delta.version(spark, lake.history(cut.table)),
        did=did,
    )


def _snapshot(
    spark: SparkSession, order: Reconciliation, history: DataFrame, columns: list[str]
) -> tuple[DataFrame, list[str]]:
    """The source's rows in the history's types, and the columns that both have."""
    reader = spark.read.format(order.format)
    if order.format == "csv":
        reader = reader.options(header="true", nullValue=order.null, escape='"', multiLine="true")
    if order.format == "json":
        reader = reader.option("primitivesAsString", "true")
    rows = reader.load(order.snapshot)
    shared = [name for name in columns if name in rows.columns]
    types = {field.name: field.dataType for field in history.schema}
    cells = (F.col(quoted(name)).try_cast(types[name]).alias(name) for name in shared)
    return rows.select(*cells), shared


def _key_columns(history: DataFrame) -> list[str]:
    """The names in a canonical key, in their order."""
    first = history.select(F.json_object_keys("_key").alias("names")).first()
    if first is None:
        raise Terminal("the history has no rows, so nothing is known of its key")
    return list(first["names"])


def _at(history: DataFrame, order: Reconciliation) -> DataFrame:
    """The rows of the moment, and whether their keys were changed after it."""
    moment = F.lit(order.as_of).cast("timestamp")
    began = F.col("_valid_from") <= moment
    stands = began & (F.col("_valid_to").isNull() | (F.col("_valid_to") > moment))
    later = history.groupBy("_key").agg(
        F.max((F.col("_valid_from") > moment) | (F.col("_valid_to") > moment)).alias("_later")
    )
    return history.withColumn("_stands", stands).join(later, "_key")


def _differences(
    history: DataFrame, rows: DataFrame, keys: list[str], shared: list[str]
) -> DataFrame:
    """A row for each key of either side: `_key, kind, columns, changed_since`."""
    own = history.where("_stands").select(
        "_key", "_later", *map(quoted, shared)
    ).alias("h")  # fmt: skip
    theirs = rows.withColumn("_there", F.lit(True)).alias("s")
    same = [F.col(f"h.{quoted(name)}").eqNullSafe(F.col(f"s.{quoted(name)}")) for name in keys]
    joined = own.join(theirs, reduce(lambda a, b: a & b, same), "full")
    ours, other = F.col("h._key").isNotNull(), F.col("s._there").isNotNull()
    unequal = F.array_compact(F.array(*(_unequal(name) for name in shared if name not in keys)))
    known = F.to_json(F.struct(*(F.col(f"s.{quoted(name)}") for name in keys)))
    kind = (
        F.when(~other, "not in the source")
        .when(~ours, "not in the history")
        .when(F.size(unequal) > 0, "different")
        .otherwise("equal")
    )
    return joined.select(
        F.coalesce(F.col("h._key"), known).alias("_key"),
        kind.alias("kind"),
        F.when(ours & other, unequal).alias("columns"),
        F.coalesce(F.col("h._later"), F.lit(False)).alias("changed_since"),
    )


def _unequal(name: str) -> Column:
    same = F.col(f"h.{quoted(name)}").eqNullSafe(F.col(f"s.{quoted(name)}"))
    return F.when(~same, F.lit(name))
