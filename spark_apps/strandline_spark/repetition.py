"""Changes at shared positions in columns; the twin of `strandline.interpreter.repetition`.

Looked at only where a connector's positions may be shared and something was delivered twice: then
the deliveries of the keys in question are walked through in order, in one aggregate expression.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.change import Op
from strandline_spark.distinct import major


def settled(deliveries: DataFrame, everything: DataFrame) -> DataFrame:
    """Numbered deliveries; those that look repeated and are genuine become first ones.

    `everything` are the deliveries of the whole table: how far a partition had come before a record
    is a matter of all its keys.
    """
    suspects = _suspects(everything).localCheckpoint()
    if suspects.isEmpty():
        return deliveries
    found = _genuine(everything, suspects).withColumn("_genuine", F.lit(True)).localCheckpoint()
    at = ["_key", "_topic_id", "_partition", "_offset"]
    told = deliveries.join(F.broadcast(found), at, "left")
    delivery = F.when(F.col("_genuine"), F.lit(1)).otherwise(F.col("_delivery"))
    return told.withColumn("_delivery", delivery).drop("_genuine")


def _suspects(everything: DataFrame) -> DataFrame:
    """The places (`_major, _link`) that several row changes claim, one of them more than once."""
    rows = _rows(everything)
    moved = F.coalesce(F.col("_moved_to"), F.col("_moved_from"))
    move = F.concat_ws(">", F.least("_key", moved), F.greatest("_key", moved))
    claim = F.coalesce(move, F.concat_ws("@", "_key", F.col("_identity").cast("string")))
    again = rows.groupBy("_major", "_link", "_key", "_identity").agg(F.count("*").alias("times"))
    repeated = again.where(F.col("times") > 1).select("_major", "_link").distinct()
    shared = (
        rows.where(F.col("_op") != Op.READ.value)
        .groupBy("_major", "_link")
        .agg(F.count_distinct(claim).alias("claims"))
        .where(F.col("claims") > 1)
    )
    return repeated.join(shared, ["_major", "_link"], "left_semi")


def _rows(everything: DataFrame) -> DataFrame:
    rows = everything.where((F.col("_op") != Op.TOMBSTONE.value) & (F.col("_kind") != "fence"))
    return rows.withColumn("_major", major(F.col("_seq")))


def _genuine(everything: DataFrame, suspects: DataFrame) -> DataFrame:
    """The coordinates of what looks like a second delivery and is none."""
    partition = Window.partitionBy("_topic_id", "_partition").orderBy("_offset")
    earlier = partition.rowsBetween(Window.unboundedPreceding, -1)
    rows = _rows(everything).withColumn("_high", F.max("_major").over(earlier))
    shared = rows.join(
        F.broadcast(suspects.withColumn("_shared", F.lit(True))), ["_major", "_link"], "left"
    )
    keys = shared.where("_shared").select("_key").distinct()
    step = F.struct(
        F.col("_offset").alias("offset"),
        F.col("_identity").alias("identity"),
        F.col("_major").alias("major"),
        F.coalesce(F.col("_major") < F.col("_high"), F.lit(False)).alias("rewound"),
        F.coalesce(F.col("_shared"), F.lit(False)).alias("shared"),
        F.col("_op").alias("op"),
        F.col("_before").alias("before"),
        F.col("_after").alias("after"),
    )
    walked = (
        shared.join(F.broadcast(keys), "_key", "left_semi")
        .groupBy("_key", "_topic_id", "_partition")
        .agg(F.sort_array(F.collect_list(step)).alias("steps"))
        .withColumn("_found", F.aggregate("steps", _start(), _walk, lambda state: state["found"]))
    )
    return walked.select("_key", "_topic_id", "_partition", F.explode("_found").alias("_offset"))


def _start() -> Column:
    return F.struct(
        F.array().cast("array<bigint>").alias("seen"),
        F.array().cast("array<bigint>").alias("rows"),
        F.lit("").alias("major"),
        F.array().cast("array<bigint>").alias("found"),
    )


def _walk(state: Column, step: Column) -> Column:
    """One record: is it genuine, and what stands under the key after it."""
    create = step["op"] == Op.CREATE.value
    stands = F.array_contains(state["rows"], step["before"])
    starts = F.when(create, F.size(state["rows"]) == 0).otherwise(F.coalesce(stands, F.lit(False)))
    again = F.array_contains(state["seen"], step["identity"])
    genuine = again & ~step["rewound"] & step["shared"] & starts
    kept = ~again | genuine
    emptied = create & (step["major"] != state["major"])
    rows = F.when(emptied, F.array().cast("array<bigint>")).otherwise(state["rows"])
    leaves = step["op"].isin("u", "d") & (F.size(rows) > 0)
    rows = F.when(leaves, _without(rows, step["before"])).otherwise(rows)
    stays = step["op"] != "d"
    rows = F.when(stays, F.concat(rows, F.array(step["after"]))).otherwise(rows)
    return F.struct(
        F.when(again, state["seen"])
        .otherwise(F.concat(state["seen"], F.array(step["identity"])))
        .alias("seen"),
        F.when(kept, rows).otherwise(state["rows"]).alias("rows"),
        F.when(kept, step["major"]).otherwise(state["major"]).alias("major"),
        F.when(genuine, F.concat(state["found"], F.array(step["offset"])))
        .otherwise(state["found"])
        .alias("found"),
    )


def _without(rows: Column, row: Column) -> Column:
    """The rows less one: the first that equals `row`, else the oldest."""
    place = F.coalesce(F.nullif(F.array_position(rows, row), F.lit(0)), F.lit(1)).cast("int")
    return F.concat(
        F.slice(rows, F.lit(1), place - 1),
        F.slice(rows, place + 1, F.size(rows)),
    )
