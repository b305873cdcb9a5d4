"""Changes at shared positions in columns; the twin of `strandline.law.group.repetition`.

Looked at only where a connector's positions may be shared and something was delivered twice: then
the deliveries of the keys in question are walked through in order, in one aggregate expression.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline_spark.checkpoint import kept
from strandline_spark.distinct import EARLIEST, major
from strandline_spark.image import IMAGE, place_of, without
from strandline_spark.windows import hashed, of_key

_ROWS = f"array<{IMAGE}>"
_SO_FAR = (Window.unboundedPreceding, Window.currentRow)


def told_apart(deliveries: DataFrame, everything: DataFrame, *, shifts: bool) -> DataFrame:
    """Deliveries with another `_identity` for each of several equal changes (`_nth`).

    `everything` are the deliveries of the whole table: how far a partition had come before a record
    is a matter of all its keys.
    """
    suspects = kept(_suspects(everything))
    marked = deliveries.withColumn("_genuine", F.lit(False))
    if not suspects.isEmpty():
        found = kept(_genuine(everything, suspects, shifts=shifts))
        marks = F.broadcast(found.withColumn("_genuine", F.lit(True)))
        at = ["_key", "_topic_id", "_partition", "_offset"]
        told = deliveries.join(marks, at, "left")
        marked = told.withColumn("_genuine", F.coalesce("_genuine", F.lit(False)))
    nth = marked.withColumn("_nth", _nth())
    own = F.when(F.col("_nth") > 1, F.xxhash64("_identity", "_nth")).otherwise(F.col("_identity"))
    return nth.withColumn("_identity", own).drop("_genuine", "_nth")


def _nth() -> Column:
    """The second ordinal is of the second one, as is the first repetition without an ordinal."""
    ordinal = F.col("_ordinal")
    as_number = (ordinal.isNull(), F.length(ordinal), ordinal)
    earlier = of_key("_identity").orderBy(*EARLIEST).rowsBetween(*_SO_FAR)
    genuine = 1 + F.count_if("_genuine").over(earlier)
    rank = F.dense_rank().over(of_key("_identity").orderBy(*as_number))
    return F.when(F.col("_genuine"), genuine).when(ordinal.isNotNull(), rank).otherwise(F.lit(1))


def _suspects(everything: DataFrame) -> DataFrame:
    """The places (`_major, _link`) where a change came more than once and positions are shared.

    Where several changes claim one place every place of the position is shared: the rows of a
    transaction that MySQL compressed are counted anew by each of its events.
    """
    rows = _rows(everything)
    moved = F.coalesce(F.col("_moved_to"), F.col("_moved_from"))
    # Both halves of one move claim once; there and back are two moves.
    ends = F.concat_ws(">", F.coalesce("_moved_from", "_key"), F.coalesce("_moved_to", "_key"))
    move = F.when(moved.isNotNull(), ends)
    claim = F.coalesce(move, F.concat_ws("@", "_key", F.col("_identity").cast("string")))
    again = rows.groupBy("_major", "_link", "_key", "_identity").agg(F.count("*").alias("times"))
    repeated = again.where(F.col("times") > 1).select("_major", "_link").distinct()
    shared = (
        rows.where(F.col("_op") != Op.READ.value)
        .groupBy("_major", "_link")
        .agg(F.count_distinct(claim).alias("claims"))
        .where(F.col("claims") > 1)
    )
    return repeated.join(shared, "_major", "left_semi")


def _rows(everything: DataFrame) -> DataFrame:
    return _placed(everything).where(F.col("_ordinal").isNull())


def _placed(everything: DataFrame) -> DataFrame:
    change = (F.col("_op") != Op.TOMBSTONE.value) & (F.col("_kind") != "fence")
    # A flattened row has no place to share: its identity says it all.
    rows = everything.where(change & (F.col("_link") != ""))
    return rows.withColumn("_major", major(F.col("_seq")))


def _genuine(everything: DataFrame, suspects: DataFrame, *, shifts: bool) -> DataFrame:
    """The coordinates of what looks like a second delivery and is none."""
    partition = Window.partitionBy("_topic_id", "_partition").orderBy("_offset")
    earlier = partition.rowsBetween(Window.unboundedPreceding, -1)
    same = of_key("_identity", "_topic_id", "_partition").orderBy("_offset")
    unnumbered = F.col("_ordinal").isNull()
    run = F.struct(F.col("_connector_run").alias("run"), unnumbered.alias("unnumbered"))
    placed = hashed(_placed(everything)).withColumn("_run_before", F.lag(run).over(partition))
    counted = placed.where(unnumbered).withColumns(
        {"_high": F.max("_major").over(earlier), "_nth": F.row_number().over(same)}
    )
    # From a rewind or restart on what is known is a repetition, up to the first news.
    before = F.col("_run_before")
    other = before["run"].isNotNull() & ~before["run"].eqNullSafe(F.col("_connector_run"))
    restarted = F.coalesce(other | ~before["unnumbered"], F.lit(False))
    turn = F.when(F.col("_nth") == 1, F.lit(False)).when(
        restarted | (F.col("_major") < F.col("_high")), F.lit(True)
    )
    so_far = partition.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    rewound = F.coalesce(F.last(turn, ignorenulls=True).over(so_far), F.lit(False))
    rows = counted.withColumn("_rewound", rewound)
    shared = rows.join(
        F.broadcast(suspects.withColumn("_shared", F.lit(True))), ["_major", "_link"], "left"
    )
    keys = shared.where("_shared").select("_key").distinct()
    step = F.struct(
        F.col("_offset").alias("offset"),
        F.col("_identity").alias("identity"),
        F.col("_major").alias("major"),
        F.col("_rewound").alias("rewound"),
        F.coalesce(F.col("_shared"), F.lit(False)).alias("shared"),
        F.col("_op").alias("op"),
        F.col("_before").alias("before"),
        F.col("_after").alias("after"),
    )
    walked = (
        shared.join(F.broadcast(keys), "_key", "left_semi")
        .groupBy("_key", "_topic_id", "_partition")
        .agg(F.sort_array(F.collect_list(step)).alias("steps"))
        .withColumn(
            "_found", F.aggregate("steps", _start(), _walk(shifts=shifts), lambda s: s["found"])
        )
    )
    return walked.select("_key", "_topic_id", "_partition", F.explode("_found").alias("_offset"))


def _start() -> Column:
    return F.struct(
        F.array().cast("array<bigint>").alias("seen"),
        F.array().cast(_ROWS).alias("rows"),
        F.lit("").alias("major"),
        F.array().cast("array<bigint>").alias("found"),
    )


def _walk(*, shifts: bool) -> Callable[[Column, Column], Column]:
    def walk(state: Column, step: Column) -> Column:
        """One record: is it genuine, and what stands under the key after it."""
        starts = place_of(step["before"], state["rows"]) > 0
        starts = F.when(step["op"] == Op.CREATE.value, F.size(state["rows"]) == 0).otherwise(starts)
        again = F.array_contains(state["seen"], step["identity"])
        genuine = again & ~step["rewound"] & step["shared"] & starts
        seen = F.concat(state["seen"], F.array(step["identity"]))
        found = F.concat(state["found"], F.array(step["offset"]))
        rows = _left(state, step, shifts=shifts)
        rows = F.when(step["op"] != "d", F.concat(rows, F.array(step["after"]))).otherwise(rows)
        return F.struct(
            F.when(again, state["seen"]).otherwise(seen).alias("seen"),
            F.when(~again | genuine, rows).otherwise(state["rows"]).alias("rows"),
            F.when(~again | genuine, step["major"]).otherwise(state["major"]).alias("major"),
            F.when(genuine, found).otherwise(state["found"]).alias("found"),
        )

    return walk


def _left(state: Column, step: Column, *, shifts: bool) -> Column:
    """The rows that stand before the step's own image: with shifts others than the one it takes."""
    none = F.array().cast(_ROWS)
    if not shifts:
        return none
    anew = (step["op"] == Op.CREATE.value) & (step["major"] != state["major"])
    emptied = anew | (step["op"] == Op.READ.value)
    rows = F.when(emptied, none).otherwise(state["rows"])
    like = place_of(step["before"], rows)
    place = F.when(step["before"].isNull(), F.lit(1)).otherwise(like)
    takes = step["op"].isin("u", "d") & (place > 0)
    return F.when(takes, without(rows, place)).otherwise(rows)
