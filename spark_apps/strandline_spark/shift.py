"""Statement-level shifts in columns; the twin of `strandline.law.group.shift`.

Only keys of which a delete follows a create inside one transaction can have been taken over before
their row left: their changes are walked through in order, in one aggregate expression. They are
there whole, or begin with one after which no row stands. A walk holds its steps in memory, so that
it leaves out the transactions that put nothing elsewhere, and ends where what stands is plain.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.changes.change import IMAGES, Op
from strandline_spark.checkpoint import kept
from strandline_spark.distinct import END_OPS
from strandline_spark.image import IMAGE, nothing, place_of
from strandline_spark.link import by_key, earlier, so_far
from strandline_spark.windows import of_key

_IMAGES = [op.value for op in IMAGES]
_PLACE = ("_key", "_topic_id", "_partition", "_offset")
_IMAGED = ("_before", "_told", "_after")
_ROW = f"struct<image: {IMAGE}, seq: string, took_over: boolean>"


def marked(rows: DataFrame) -> DataFrame:
    """Adds `_shifts`: a delete after a create of the same transaction."""
    created = F.when(F.col("_op") == Op.CREATE.value, F.col("_tx_id"))
    last = F.last(created, ignorenulls=True).over(earlier(by_key()))
    after = (F.col("_op") == Op.DELETE.value) & F.coalesce(last == F.col("_tx_id"), F.lit(False))
    return rows.withColumn("_shifts", after)


def in_turn(rows: DataFrame, deliveries: DataFrame, *, full_before: bool) -> DataFrame:
    """Rows with each delete put where the row after it begins; expects `_fence` and `_shifts`.

    The images of the rows are in their `deliveries`. `_unseen` marks those that delete a row which
    was never seen, so that they end nothing (docs/facts/questions.md, A2), and those that change
    one that was taken over.
    """
    keys = kept(rows.where("_shifts").select("_key").distinct())
    images = kept(deliveries.join(F.broadcast(keys), "_key", "left_semi").select(*_PLACE, *_IMAGED))
    shifting = rows.join(F.broadcast(keys), "_key", "left_semi").join(images, [*_PLACE], "left")
    turned = _turned(shifting, full_before=full_before)
    found = kept(turned)
    return (
        rows.join(F.broadcast(found), ["_key", "_seq"], "left")
        .withColumn("_unseen", F.coalesce(F.col("_turn") == "", F.lit(False)))
        .withColumn("_seq", F.coalesce(F.nullif("_turn", F.lit("")), "_seq"))
        .drop("_turn")
    )


def _turned(rows: DataFrame, *, full_before: bool) -> DataFrame:
    """`_key, _seq, _turn`: where each moved delete goes; "" for what does nothing here."""
    fence = F.col("_fence._seq")
    following = F.lead("_seq").over(by_key())
    cut = F.lag(fence.isNotNull() & (following.isNull() | (fence < following))).over(by_key())
    cut = F.coalesce(cut, F.lit(False))
    step = F.struct(
        F.col("_seq").alias("seq"),
        F.col("_op").alias("op"),
        F.col("_tx_id").alias("tx_id"),
        F.col("_before").alias("before"),
        F.col("_before" if full_before else "_told").alias("told"),
        F.col("_after").alias("after"),
        (F.lit(full_before) | F.col("_moved_from").isNotNull()).alias("took_over"),
        F.col("_cut").alias("cut"),
        F.col("_standing").alias("stands"),
    )
    start = _start(F.get("steps", F.lit(0))["stands"])
    return (
        walks(rows.withColumn("_cut", cut))
        .groupBy("_key", "_walk")
        .agg(F.sort_array(F.collect_list(step)).alias("steps"))
        .select(
            "_key",
            F.explode(F.aggregate("steps", start, _walk, lambda s: s["turns"])).alias("turn"),
        )
        .select("_key", F.col("turn.seq").alias("_seq"), F.col("turn.turn").alias("_turn"))
    )


def walks(rows: DataFrame) -> DataFrame:
    """The rows to walk through, a `_walk` each for those that hang together; expects `_cut`.

    `_standing` is what stood before a row, as far as it is plain. It is plain behind a transaction
    that ended with a create, behind one of updates alone, and behind one in which nothing followed
    an image; in the last two no row was put elsewhere either.
    """
    created = F.col("_op") == Op.CREATE.value
    image = F.col("_op").isin(*_IMAGES)
    ends = F.col("_op").isin(*END_OPS) | F.col("_cut") & ~image
    opens = ~F.coalesce(F.col("_tx_id") == F.lag("_tx_id").over(by_key()), F.lit(False))
    left = F.when(image, F.struct(F.lit(True).alias("row"), F.col("_after").alias("image")))
    left = left.when(ends, F.struct(F.lit(False).alias("row"), nothing().alias("image")))
    numbered = rows.withColumns(
        {
            "_opens": opens,
            "_nth": F.count_if(opens).over(so_far(by_key())),
            "_standing": F.last(left, ignorenulls=True).over(earlier(by_key())),
        }
    )
    within = of_key("_nth").orderBy("_seq", "_shows")
    whole = within.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    follows = F.coalesce(F.max(image).over(earlier(within)), F.lit(False)) & (image | ends)
    told = numbered.withColumns(
        {
            "_follows": follows,
            "_renews": F.max(created | ends).over(whole),
            "_plain": F.last(F.when(image | ends, created), ignorenulls=True).over(whole),
        }
    )
    walked = F.max("_follows").over(whole) & F.col("_renews")
    plain = F.when(F.col("_plain").isNotNull(), ~F.col("_walked") | F.col("_plain"))
    told = told.withColumn("_walked", walked).withColumn("_plain", plain)
    before = F.last("_plain", ignorenulls=True).over(earlier(by_key()))
    starts = F.col("_opens") & F.col("_walked") & F.coalesce(before, F.lit(True))
    found = told.withColumn("_walk", F.count_if(starts).over(so_far(by_key())))
    return found.where((F.col("_walked") | F.col("_plain").isNull()) & (F.col("_walk") > 0))


def _start(stands: Column) -> Column:
    row = _row(stands["image"], F.lit(""), F.lit(False))
    return F.struct(
        F.when(stands["row"], F.array(row)).otherwise(_none()).alias("queue"),
        F.lit(None).cast("string").alias("tx_id"),
        F.array().cast("array<struct<seq: string, turn: string>>").alias("turns"),
    )


def _walk(state: Column, step: Column) -> Column:
    queue = F.when(step["cut"], _none()).otherwise(state["queue"])
    same = F.coalesce(step["tx_id"] == state["tx_id"], F.lit(False))
    queue = F.when(same, queue).otherwise(_settled(queue))
    deletes = (step["op"] == Op.DELETE.value) & (F.size(queue) > 0)
    place = _left(queue, step)
    after = F.get(queue, place)  # places count from 1, `get` from 0: the row after it
    turn = F.when(place == 0, F.lit("")).otherwise(after["seq"])
    moves = deletes & ((place == 0) | after.isNotNull())
    renews = step["op"].isin(*_IMAGES) & (step["op"] != Op.CREATE.value) & (F.size(queue) > 0)
    late = renews & _taken_over(queue, _renewed(queue, step))
    turned = F.struct(
        step["seq"].alias("seq"), F.when(deletes, turn).otherwise(F.lit("")).alias("turn")
    )
    return F.struct(
        # What came before it had to be gone before it could leave (docs/facts/questions.md, A8).
        F.when(deletes & (place > 0), F.slice(queue, place + 1, F.size(queue)))
        .when(deletes, queue)
        .otherwise(_stood(queue, step))
        .alias("queue"),
        step["tx_id"].alias("tx_id"),
        F.when(moves | late, F.concat(state["turns"], F.array(turned)))
        .otherwise(state["turns"])
        .alias("turns"),
    )


def _none() -> Column:
    return F.array().cast(f"array<{_ROW}>")


def _settled(queue: Column) -> Column:
    """At a commit one row remains; a record that we lack closed what else is there.

    See docs/facts/questions.md, A8.
    """
    last = F.slice(queue, F.greatest(F.size(queue), F.lit(1)), F.lit(1))
    return F.transform(last, lambda row: _row(row["image"], row["seq"], F.lit(False)))


def _row(image: Column, seq: Column, took_over: Column) -> Column:
    return F.struct(image.alias("image"), seq.alias("seq"), took_over.alias("took_over"))


def _left(queue: Column, step: Column) -> Column:
    """The place of the row that a delete takes, from 1; 0 where it takes one never seen."""
    like, told = _like(step["before"], queue), _like(step["told"], queue)
    took_over = F.forall(queue, lambda row: row["took_over"])
    return (
        F.when(like > 0, like)
        .when(told > 0, told)
        .when(step["told"].isNull(), F.size(queue))
        .when(took_over, F.lit(0))
        .otherwise(F.lit(1))
    )


def _like(image: Column, queue: Column) -> Column:
    return place_of(image, F.transform(queue, lambda row: row["image"]))


def _renewed(queue: Column, step: Column) -> Column:
    """The place of the row that an update is of, from 1: where many are like it the newest."""
    behind = _like(step["before"], F.reverse(queue))
    return F.size(queue) + 1 - F.greatest(behind, F.lit(1))


def _taken_over(queue: Column, place: Column) -> Column:
    """Whether the row at a place has lost its key to a later one."""
    later = F.slice(queue, place + 1, F.size(queue))
    return F.exists(later, lambda row: row["took_over"])


def _stood(queue: Column, step: Column) -> Column:
    """The queue after anything but a delete that takes a row."""
    appended = F.concat(queue, F.array(_row(step["after"], step["seq"], step["took_over"])))
    place = _renewed(queue, step)
    renewed = F.transform(
        queue,
        lambda row, n: F.when(
            n + 1 == place, _row(step["after"], row["seq"], row["took_over"])
        ).otherwise(row),
    )
    image = step["op"].isin(*_IMAGES)
    return (
        F.when(image & ((step["op"] == Op.CREATE.value) | (F.size(queue) == 0)), appended)
        .when(image, renewed)
        .when(step["op"].isin(*END_OPS), _none())
        .otherwise(queue)
    )
