"""Stage distinct in columns; the twin of `strandline.law.group.distinct`.

Input are deliveries as the changes table holds them. A key's deliveries have to be there whole, or
all newer than anything that was applied for the key.
"""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from strandline.changes.change import ENDS, Op
from strandline.changes.position import Phase, fence_seq
from strandline_spark.checkpoint import kept
from strandline_spark.windows import of_key

_TIE_DIGITS, _PLACE_DIGITS = 16, 15
# Of two deliveries at one offset, that of the topic itself stands before what was landed again.
EARLIEST = ("_offset", "_partition", "_topic_id")
REFUSED = "refused"
# The operations after which no row stands.
END_OPS = tuple(op.value for op in ENDS)
# Sent in the order of the log; reads tell of the past.
STREAMED = (Op.CREATE.value, Op.UPDATE.value, Op.DELETE.value, Op.TRUNCATE.value)


def is_end() -> Column:
    """Whether no row stands after it: a delete, a tombstone, a row that was looked for in vain."""
    return F.col("_op").isin(*END_OPS)


def major(seq: Column) -> Column:
    """The part of a `_seq` that orders across partitions."""
    return seq.substr(F.lit(1), F.length(seq) - _TIE_DIGITS)


def is_placed(seq: Column) -> Column:
    """Whether a `_seq` tells a place in the log; else only offsets order."""
    return F.length(seq) > len(fence_seq(""))


def is_last(seq: Column) -> Column:
    """Whether it is of a read that stands after the rows at its position."""
    return seq.substr(F.length(seq) - _PLACE_DIGITS, F.lit(1)) == Phase.READ.value


def place(offset: Column, partition: Column) -> Column:
    """The last digits of a `_seq`: where the record lies in Kafka."""
    digits = F.concat(F.lpad(F.hex(offset), 11, "0"), F.lpad(F.hex(partition), 4, "0"))
    return F.lower(digits)


def before_phase(seq: Column) -> Column:
    """The place of a fence before all rows of a row's own major position and phase."""
    return F.concat(_phased(seq), F.lit("0" * _PLACE_DIGITS))


def directly_after(seq: Column, offset: Column, partition: Column) -> Column:
    """The `_seq` of a record there which has no position but that of the one before it."""
    return F.concat(_phased(seq), place(offset, partition))


def next_to(seq: Column) -> Column:
    """The place of a fence behind that row, before whatever may come."""
    own = F.conv(F.right(seq, F.lit(_PLACE_DIGITS)), 16, 10).cast("bigint")
    return F.concat(_phased(seq), F.lpad(F.lower(F.hex(own + 1)), _PLACE_DIGITS, "0"))


def _phased(seq: Column) -> Column:
    """Epoch, major position and phase."""
    return seq.substr(F.lit(1), F.length(seq) - _PLACE_DIGITS)


def numbered(deliveries: DataFrame, refused: DataFrame | None) -> DataFrame:
    """Deliveries in their place, with `_delivery`: which delivery of its change a row is.

    Tombstones that add nothing to the record before them are gone: it was a delete, or is in
    quarantine (`refused` has the key and coordinates of those). `_goes_back`: a record before it in
    its partition changed the key at a later position; that is as it should be of a second delivery.
    `_outdated`: a read behind such a one, of a snapshot that was taken later than its position
    (PostgreSQL's blocking ones carry that of the slot in the run that made it).
    """
    ended = F.coalesce(F.lag(is_end() | (F.col("_op") == REFUSED)).over(raw()), F.lit(False))
    tombstone = F.col("_op") == Op.TOMBSTONE.value
    if refused is not None:
        marks = refused.withColumn("_op", F.lit(REFUSED))
        deliveries = deliveries.unionByName(marks, allowMissingColumns=True)
    # All that follows goes by the key: one exchange serves every window.
    told = deliveries.repartition("_key").withColumn("_absorbed", tombstone & ended)
    if refused is not None:
        told = told.where(F.col("_op") != REFUSED)
    # A lone tombstone is its own first delivery: it has no identity but its coordinates.
    own = F.when(tombstone, F.struct("_partition", "_offset"))
    same = of_key("_identity", own).orderBy("_since", *EARLIEST)
    every = same.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    earlier = same.rowsBetween(Window.unboundedPreceding, -1)
    streamed = F.col("_op").isin(*STREAMED) & ~F.col("_in_flight")
    before = raw().rowsBetween(Window.unboundedPreceding, -1)
    high = F.max(F.when(streamed, major(F.col("_seq")))).over(before)
    read = F.col("_emitted").isNotNull()
    newest = F.max(F.when(F.col("_op").isin(*STREAMED), major(F.col("_seq")))).over(before)
    beside = {
        "_goes_back": F.coalesce(streamed & (major(F.col("_seq")) < high), F.lit(False)),
        "_outdated": F.coalesce(read & (major(F.col("_seq")) < newest), F.lit(False)),
        # Offsets of two partitions do not compare, and inside one clocks may run back.
        "_since": F.max("_stored").over(raw().rowsBetween(Window.unboundedPreceding, 0)),
        "_followed": F.coalesce(F.lead(tombstone).over(raw()), F.lit(False)),
        "_preceded": F.coalesce(F.lag(tombstone).over(raw()), F.lit(False)),
    }
    return (
        _placed(told)
        .withColumns(beside)
        .where(~F.col("_absorbed"))
        .withColumns(
            {
                "_delivery": F.row_number().over(same),
                "_followed": F.max("_followed").over(earlier),
                "_followed_again": F.last("_followed").over(every),
                "_preceded": F.max("_preceded").over(earlier),
            }
        )
        .drop("_absorbed")
    )


def first_deliveries(deliveries: DataFrame) -> DataFrame:
    """Of numbered deliveries the first, and all lone tombstones.

    `_repeated`: one that came before, as its neighbour did, with a tombstone
    (docs/facts/questions.md, A9). It adds nothing but a number to the duplicates. What is sent
    again behind it has one before it; but it is of the record before it, if that has a tombstone
    whenever it is sent again.
    """
    before = F.lag("_followed").over(raw())
    after = F.lead("_preceded").over(raw())
    nowhere = F.lit(False)
    own = F.coalesce(F.lag("_followed_again").over(raw()), nowhere)
    repeated = (F.col("_op") == Op.TOMBSTONE.value) & (
        F.coalesce(before, nowhere) | (F.coalesce(after, nowhere) & ~own)
    )
    return (
        deliveries.withColumn("_repeated", repeated)
        .where(F.col("_delivery") == 1)
        .drop("_delivery", "_since", "_followed", "_followed_again", "_preceded")
    )


def raw() -> WindowSpec:
    """The records of a key as they lie in their partition."""
    return of_key("_topic_id", "_partition").orderBy("_offset")


def distinct_fences(deliveries: DataFrame) -> DataFrame:
    """One row per truncate: `_seq, _scope, _sweep`, and of its first delivery the rest.

    First is the earliest by Kafka's time, whichever its partition; it arrived in run `_first_run`,
    and any delivery at all in run `_run`. `_in_flight`: a delivery of it may stand elsewhere.
    """
    fences = deliveries.where(F.col("_kind") == "fence")
    first = F.min_by(
        F.struct(
            "_time", F.col("_run").alias("_first_run"), "_partition", "_offset", "_local", "_stored"
        ),
        F.struct("_stored", *EARLIEST),
    )
    sweep = (F.col("_op") != Op.TRUNCATE.value).alias("_sweep")
    found = fences.groupBy("_seq", "_scope", sweep).agg(
        first.alias("first"), F.min("_run").alias("_run"), F.max("_in_flight").alias("_in_flight")
    )
    return kept(found.select("_seq", "_scope", "_sweep", "_run", "_in_flight", "first.*"))


def _placed(deliveries: DataFrame) -> DataFrame:
    """Puts a tombstone, which has no position, directly after the record of its key before it.

    Where there is none it stands before every position; offsets order those that have none.
    """
    before = raw().rowsBetween(Window.unboundedPreceding, -1)
    tombstone = F.col("_op") == Op.TOMBSTONE.value
    high = F.max(F.when(~tombstone, F.col("_seq"))).over(before)
    nowhere = F.lit(fence_seq(""))
    after = directly_after(F.coalesce(high, nowhere), F.col("_offset"), F.col("_partition"))
    first = high.isNull() & F.max(is_placed(F.col("_seq"))).over(of_key())
    place = F.when(first, nowhere).otherwise(after)
    return deliveries.withColumn("_seq", F.when(tombstone, place).otherwise(F.col("_seq")))
