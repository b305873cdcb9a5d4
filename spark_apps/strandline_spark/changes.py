"""The changes of a table: everything that was decoded, one row per delivery, in Delta.

Partitioned by `_kind` (row, move, fence, in_flight), so that the few truncates, key moves and first
transactions after a start of a table's whole life are found without reading its rows. `_run` says
which run decoded a row. `_emitted` is the envelope's own time of a read of a whole snapshot, in
milliseconds, `_connector_name` whose read it is; `_clock` is the envelope's time of a change that
may be in flight, `_stored` Kafka's, both in milliseconds. `_local` is `place@shard`, where rows
stand in the log of their shard, and truncates that nothing else orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from strandline.cells import widening
from strandline.cells.types import ColumnType, Kind, Wire
from strandline.changes import scope as scopes
from strandline_spark import delta

META = (
    "_key", "_op", "_seq", "_position", "_link", "_identity", "_local", "_moved_to", "_moved_from",
    "_unset", "_unheld", "_tx_id", "_before", "_after", "_told", "_scope", "_emitted",
    "_connector_name", "_clock", "_stored", "_in_flight", "_ordinal", "_connector_run", "_time",
    "_source_ts", "_ts_quality", "_topic", "_topic_id", "_partition", "_offset", "_run", "_kind",
)  # fmt: skip
PARTITION = "_kind"
# What the engine looks for, so that files without it are passed over. Minima and maxima of all else
# would be work for nobody (bench/README.md).
_STATISTICS = {"delta.dataSkippingStatsColumns": "_key,_op,_seq,_emitted,_run"}
IN_FLIGHT = "in_flight"


def _is_kept() -> Column:
    return F.col("_verdict").isin("change", "fence", "tombstone")


def store(decoded: DataFrame, path: str, columns: Sequence[str], run: int) -> None:
    """Appends what is a change, a fence or a tombstone; once, however often it is called."""
    rows = decoded.where(_is_kept())
    named = rows.select(*META, *(F.col(quoted(name)) for name in columns))
    delta.evolve(named, path)
    (
        named.write.format("delta")
        .mode("append")
        .partitionBy(PARTITION)
        .options(**_STATISTICS, **delta.naming_features(columns))
        .option("mergeSchema", "true")
        .option("txnAppId", delta.APPLICATION)
        .option("txnVersion", str(run))
        .save(path)
    )


def like(rows: DataFrame, schema: StructType) -> DataFrame:
    """Decoded rows as the changes table would give them back: NULL in columns they do not have."""
    own = set(rows.columns)
    return rows.where(_is_kept()).select(
        *(
            (
                F.col(quoted(field.name)) if field.name in own else F.lit(None).cast(field.dataType)
            ).alias(field.name, **({"metadata": field.metadata} if field.metadata else {}))
            for field in schema
        )
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """The business columns that the changes have already, by the types they are stored in.

    `written` says how rows whose schema described a column wrote it.
    """

    types: Mapping[str, ColumnType] = field(default_factory=dict)
    written: Mapping[str, ColumnType] = field(default_factory=dict)


def stored(spark: SparkSession, path: str) -> Stored:
    """What the changes table says of its columns."""
    if not delta.exists(spark, path):
        return Stored()
    fields = [of for of in delta.read(spark, path).schema if of.name not in META]
    types = {of.name: _stored_type(of) for of in fields}
    noted = {of.name: of.metadata.get(WRITTEN) for of in fields}
    return Stored(types, {n: _written(text, types[n]) for n, text in noted.items() if text})


def _stored_type(field: StructField) -> ColumnType:
    if field.metadata.get(TIME):
        return ColumnType(Kind.TIME)
    return widening.stored(field.dataType.simpleString())


def _written(noted: str, of: ColumnType) -> ColumnType:
    wire, precision, scale = noted.split()
    return ColumnType(of.kind, Wire(wire), int(precision), int(scale))


def scope(spark: SparkSession, path: str) -> str | None:
    """The name of a physical table that changes are of; None where none says so."""
    if not delta.exists(spark, path):
        return None
    named = delta.read(spark, path).where(F.col("_scope").isNotNull())
    found = named.select("_scope").first()
    return None if found is None else scopes.table(found["_scope"])


def known(spark: SparkSession, path: str, *, run: int, applied: int) -> DataFrame:
    """What this run decoded, and the runs up to the last one that the history has `applied`.

    Runs in between failed after they had decoded; their records were decoded again since.
    """
    return delta.read(spark, path).where((F.col("_run") == run) | (F.col("_run") <= applied))


def kinds(changes: DataFrame) -> frozenset[str]:
    """Which of move, fence and in_flight there are; one that moves a key may be in flight too."""
    found = changes.select(PARTITION, F.when(F.col("_in_flight"), IN_FLIGHT)).distinct()
    every = {kind for row in found.collect() for kind in row if kind is not None}
    return frozenset(every - {"row"})


def business_columns(changes: DataFrame) -> Mapping[str, bool]:
    """The table's own columns, in the order in which they appeared; True for those of JSON."""
    return {
        field.name: bool(field.metadata.get(JSON))
        for field in changes.schema
        if field.name not in META
    }


# The metadata of a column that holds JSON documents, of one that holds times of a day, and how the
# first rows wrote it. Delta keeps what a column says of itself when it comes.
JSON = "strandline.json"
TIME = "strandline.time"
WRITTEN = "strandline.written"


def metadata(of: ColumnType, written: ColumnType | None) -> dict[str, bool | str]:
    """What a column says of itself besides its stored type."""
    said: dict[str, bool | str] = {}
    if of.is_json:
        said[JSON] = True
    if of.kind is Kind.TIME:
        said[TIME] = True
    if written:
        said[WRITTEN] = f"{written.wire} {written.precision} {written.scale}"
    return said


def quoted(name: str) -> str:
    """A column's name as Spark's `col` wants it: letters in backticks stand for themselves."""
    return "`" + name.replace("`", "``") + "`"
