"""Stage distinct in columns; the twin of `strandline.interpreter.distinct`.

Input are deliveries as the changes table holds them. A key's deliveries have to be there whole, or
all newer than anything that was applied for the key.
"""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from strandline.change import ENDS, Op
from strandline.position import EPOCH

_TIE_DIGITS = 16


def is_end() -> Column:
    """A delete or a tombstone."""
    return F.col("_op").isin(*(op.value for op in ENDS))


def major(seq: Column) -> Column:
    """The part of a `_seq` that orders across partitions."""
    return seq.substr(F.lit(1), F.length(seq) - _TIE_DIGITS)


def distinct_changes(deliveries: DataFrame) -> DataFrame:
    """First deliveries, and tombstones that delete something, in their place."""
    numbered = _numbered(_bound_tombstones(deliveries))
    # A lone tombstone is itself repeated where the record after it is (ordering-notes §9, A9).
    repeated = (F.col("_op") == Op.TOMBSTONE.value) & (F.lead("_delivery").over(_raw()) > 1)
    return (
        numbered.withColumn("_repeated", F.coalesce(repeated, F.lit(False)))
        .where((F.col("_delivery") == 1) & ~F.col("_repeated"))
        .drop("_delivery", "_repeated")
    )


def _raw() -> WindowSpec:
    """The records of a key as they lie in their partition."""
    return Window.partitionBy("_key", "_topic_id", "_partition").orderBy("_offset")


def distinct_fences(deliveries: DataFrame) -> DataFrame:
    """One row per truncate: `_seq, _time, _run` of its first delivery, in whatever partition."""
    fences = deliveries.where(F.col("_kind") == "fence")
    first = F.min_by(F.struct("_time", "_run"), F.struct("_offset", "_partition"))
    found = fences.groupBy("_seq").agg(first.alias("first")).select("_seq", "first.*")
    return found.localCheckpoint()


def _bound_tombstones(deliveries: DataFrame) -> DataFrame:
    """Drops each tombstone whose key's record before it in the raw partition ended the row."""
    raw = _raw()
    before = raw.rowsBetween(Window.unboundedPreceding, -1)
    tombstone = F.col("_op") == Op.TOMBSTONE.value
    high = F.coalesce(F.max(major(F.col("_seq"))).over(before), F.lit(EPOCH))
    placed = F.concat(high, F.lower(F.lpad(F.hex("_offset"), _TIE_DIGITS, "0")))
    ended = F.coalesce(F.lag(is_end()).over(raw), F.lit(False))
    return (
        deliveries.withColumn("_absorbed", tombstone & ended)
        .withColumn("_seq", F.when(tombstone, placed).otherwise(F.col("_seq")))
        .where(~F.col("_absorbed"))
        .drop("_absorbed")
    )


def _numbered(deliveries: DataFrame) -> DataFrame:
    """Adds `_delivery`: which delivery of its change a row is."""
    # A lone tombstone is its own first delivery: it has no identity but its coordinates.
    own = F.when(F.col("_op") == Op.TOMBSTONE.value, F.struct("_partition", "_offset"))
    same = Window.partitionBy("_key", "_identity", own).orderBy("_offset", "_partition")
    return deliveries.withColumn("_delivery", F.row_number().over(same))
