"""Statement-level shifts in columns; the twin of `strandline.interpreter.shift`.

Only keys of which a delete follows a create inside one transaction can have been taken over before
their row left: their changes are walked through in order, in one aggregate expression.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.change import ENDS, IMAGES, Op
from strandline_spark.link import BASE, by_key, earlier
from strandline_spark.memory import kept

_IMAGES = [op.value for op in IMAGES]
_ROW = "struct<image: bigint, seq: string, own: boolean>"


def marked(rows: DataFrame) -> DataFrame:
    """Adds `_shifts`: a delete after a create of the same transaction."""
    created = F.when(F.col("_op") == Op.CREATE.value, F.col("_tx_id"))
    last = F.last(created, ignorenulls=True).over(earlier(by_key()))
    after = (F.col("_op") == Op.DELETE.value) & F.coalesce(last == F.col("_tx_id"), F.lit(False))
    return rows.withColumn("_shifts", after)


def in_turn(rows: DataFrame, *, full_before: bool) -> DataFrame:
    """Rows with each delete put where the row after it begins; expects `_fence` and `_shifts`."""
    keys = rows.where("_shifts").select("_key").distinct()
    turned = _turned(rows.join(keys, "_key", "left_semi"), full_before=full_before)
    found = kept(turned)
    return (
        rows.join(F.broadcast(found), ["_key", "_seq"], "left")
        .where(F.coalesce(F.col("_turn") != "", F.lit(True)))
        .withColumn("_seq", F.coalesce("_turn", "_seq"))
        .drop("_turn")
    )


def _turned(rows: DataFrame, *, full_before: bool) -> DataFrame:
    """`_key, _seq, _turn`: where each moved delete goes; an empty `_turn` drops it."""
    fence = F.col("_fence._seq")
    following = F.lead("_seq").over(by_key())
    cut = F.lag(fence.isNotNull() & (following.isNull() | (fence < following))).over(by_key())
    step = F.struct(
        F.col("_seq").alias("seq"),
        F.col("_op").alias("op"),
        F.col("_tx_id").alias("tx_id"),
        F.col("_before").alias("before"),
        F.col("_after").alias("after"),
        F.coalesce(F.col("_cut"), F.lit(False)).alias("cut"),
        F.coalesce(F.col("_is_current"), F.lit(False)).alias("stands"),
    )
    return (
        rows.withColumn("_cut", cut)
        .groupBy("_key")
        .agg(F.sort_array(F.collect_list(step)).alias("steps"))
        .select(
            "_key",
            F.explode(
                F.aggregate("steps", _start(), _walk(full_before=full_before), lambda s: s["turns"])
            ).alias("turn"),
        )
        .select("_key", F.col("turn.seq").alias("_seq"), F.col("turn.turn").alias("_turn"))
    )


def _start() -> Column:
    return F.struct(
        F.array().cast(f"array<{_ROW}>").alias("queue"),
        F.lit(None).cast("string").alias("tx_id"),
        F.array().cast("array<struct<seq: string, turn: string>>").alias("turns"),
    )


def _walk(*, full_before: bool):  # noqa: ANN202 - a function of two columns
    def walk(state: Column, step: Column) -> Column:
        queue = F.when(step["cut"], F.array().cast(f"array<{_ROW}>")).otherwise(state["queue"])
        same = F.coalesce(step["tx_id"] == state["tx_id"], F.lit(False))
        queue = F.when(same, queue).otherwise(_settled(queue))
        deletes = (step["op"] == Op.DELETE.value) & (F.size(queue) > 0)
        place = _left(queue, step["before"], full_before=full_before)
        after = F.get(queue, place)  # places count from 1, `get` from 0: the row after it
        turn = F.when(place == 0, F.lit("")).otherwise(after["seq"])
        moves = deletes & ((place == 0) | after.isNotNull())
        turned = F.struct(step["seq"].alias("seq"), turn.alias("turn"))
        return F.struct(
            F.when(deletes & (place > 0), _without(queue, place))
            .when(deletes, queue)
            .otherwise(_stood(queue, step))
            .alias("queue"),
            step["tx_id"].alias("tx_id"),
            F.when(moves, F.concat(state["turns"], F.array(turned)))
            .otherwise(state["turns"])
            .alias("turns"),
        )

    return walk


def _settled(queue: Column) -> Column:
    """At a commit one row remains, and it is no longer of the transaction that goes on."""
    last = F.slice(queue, F.greatest(F.size(queue), F.lit(1)), F.lit(1))
    return F.transform(last, lambda row: _row(row["image"], row["seq"], F.lit(False)))


def _row(image: Column, seq: Column, own: Column) -> Column:
    return F.struct(image.alias("image"), seq.alias("seq"), own.alias("own"))


def _left(queue: Column, before: Column, *, full_before: bool) -> Column:
    """The place of the row that a delete takes, from 1; 0 where it takes one never seen."""
    equal = F.array_position(F.transform(queue, lambda row: row["image"]), before)
    equal = F.coalesce(equal, F.lit(0)).cast("int")
    if not full_before:
        return F.when(equal > 0, equal).otherwise(F.lit(1))
    seen = F.forall(queue, lambda row: row["own"] & row["image"].isNotNull())
    unseen = before.isNotNull() & seen
    return F.when(equal > 0, equal).when(unseen, F.lit(0)).otherwise(F.lit(1))


def _without(queue: Column, place: Column) -> Column:
    return F.concat(
        F.slice(queue, F.lit(1), F.greatest(place - 1, F.lit(0))),
        F.slice(queue, place + 1, F.size(queue)),
    )


def _stood(queue: Column, step: Column) -> Column:
    """The queue after anything but a delete."""
    own = F.array(_row(step["after"], step["seq"], F.lit(True)))
    appended = F.concat(queue, own)
    equal = F.array_position(F.transform(queue, lambda row: row["image"]), step["before"])
    place = F.when(F.coalesce(equal, F.lit(0)) > 0, equal).otherwise(F.size(queue)).cast("int")
    renewed = F.transform(
        queue,
        lambda row, n: F.when(
            n + 1 == place, _row(step["after"], row["seq"], row["own"])
        ).otherwise(row),
    )
    none = F.array().cast(f"array<{_ROW}>")
    base = F.array(_row(F.lit(None).cast("bigint"), step["seq"], F.lit(False)))
    image = step["op"].isin(*_IMAGES)
    return (
        F.when((step["op"] == BASE) & step["stands"], base)
        .when(image & ((step["op"] == Op.CREATE.value) | (F.size(queue) == 0)), appended)
        .when(image, renewed)
        .when(step["op"].isin(*(op.value for op in ENDS)), none)
        .otherwise(queue)
    )
