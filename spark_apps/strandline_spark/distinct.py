"""Stage distinct in columns; the twin of `strandline.interpreter.distinct`.

Input are deliveries as the changes table holds them. A key's deliveries have to be there whole, or
all newer than anything that was applied for the key.
"""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from strandline.change import ENDS, Op
from strandline.position import seq

_TIE_DIGITS = 16
_NOWHERE = seq("", 0)[:-_TIE_DIGITS]


def is_end() -> Column:
    """A delete or a tombstone."""
    return F.col("_op").isin(*(op.value for op in ENDS))


def major(seq: Column) -> Column:
    """The part of a `_seq` that orders across partitions."""
    return seq.substr(F.lit(1), F.length(seq) - _TIE_DIGITS)


def at(place: Column, offset: Column) -> Column:
    """The `_seq` of a record at that offset that stands at another one's major position."""
    return F.concat(place, F.lower(F.lpad(F.hex(offset), _TIE_DIGITS, "0")))


def numbered(deliveries: DataFrame) -> DataFrame:
    """Deliveries in their place, with `_delivery`: which delivery of its change a row is.

    Tombstones that add nothing to the delete before them are gone.
    """
    placed = _placed(deliveries)
    # A lone tombstone is its own first delivery: it has no identity but its coordinates.
    own = F.when(F.col("_op") == Op.TOMBSTONE.value, F.struct("_partition", "_offset"))
    same = Window.partitionBy("_key", "_identity", own).orderBy("_offset", "_partition")
    return placed.withColumn("_delivery", F.row_number().over(same))


def first_deliveries(deliveries: DataFrame) -> DataFrame:
    """Of numbered deliveries the first, and tombstones that delete something."""
    # A lone tombstone is itself repeated where the record after it is (ordering-notes §9, A9).
    repeated = (F.col("_op") == Op.TOMBSTONE.value) & (F.lead("_delivery").over(raw()) > 1)
    return (
        deliveries.withColumn("_repeated", F.coalesce(repeated, F.lit(False)))
        .where((F.col("_delivery") == 1) & ~F.col("_repeated"))
        .drop("_delivery", "_repeated")
    )


def raw() -> WindowSpec:
    """The records of a key as they lie in their partition."""
    return Window.partitionBy("_key", "_topic_id", "_partition").orderBy("_offset")


def distinct_fences(deliveries: DataFrame) -> DataFrame:
    """One row per truncate: `_seq, _scope, _sweep, _time, _run` of its first delivery."""
    fences = deliveries.where(F.col("_kind") == "fence")
    first = F.min_by(F.struct("_time", "_run"), F.struct("_offset", "_partition"))
    sweep = (F.col("_op") != Op.TRUNCATE.value).alias("_sweep")
    found = fences.groupBy("_seq", "_scope", sweep).agg(first.alias("first"))
    return found.select("_seq", "_scope", "_sweep", "first.*").localCheckpoint()


def _placed(deliveries: DataFrame) -> DataFrame:
    """Places what has no position of its own, and drops tombstones whose row ended before them.

    A tombstone stands directly after the record of its key before it. A change of a transaction
    that was open when its row was read is newer than that read (ordering-notes §9, A10).
    """
    before = raw().rowsBetween(Window.unboundedPreceding, -1)
    tombstone = F.col("_op") == Op.TOMBSTONE.value
    place = F.when(~tombstone, major(F.col("_seq")))
    read = F.max(F.when(F.col("_op") == Op.READ.value, place)).over(before)
    lifted = F.col("_in_flight") & F.coalesce(place < read, F.lit(False))
    own = F.when(lifted, at(read, F.col("_offset"))).otherwise(F.col("_seq"))
    high = F.coalesce(F.max(place).over(before), F.lit(_NOWHERE))
    ended = F.coalesce(F.lag(is_end()).over(raw()), F.lit(False))
    return (
        deliveries.withColumn("_absorbed", tombstone & ended)
        .withColumn("_seq", F.when(tombstone, at(high, F.col("_offset"))).otherwise(own))
        .where(~F.col("_absorbed"))
        .drop("_absorbed")
    )
