"""Key moves that no header announces, in columns; the twin of `strandline.law.group.moves`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline_spark.changes import quoted
from strandline_spark.distinct import major
from strandline_spark.single import single


def judged(changes: DataFrame, run: int) -> DataFrame:
    """`_link, _old, _new, _keys`: what the places are at which a half of a move came in this run.

    `_old` and `_new` are NULL where more came to a place than one pair: it is no move, whatever it
    looked like before. `_keys` are all that have a half there.
    """
    rows = changes.where(F.col("_op").isin(Op.DELETE.value, Op.CREATE.value))
    rows = rows.where(F.col("_link") != "")  # flattened rows have no place
    new = rows.where(F.col("_run") == run)
    first = single(new.agg(F.min("_seq")))[0]
    if first is None:
        none = F.array().cast("array<string>")
        nothing = new.select("_link", F.col("_key").alias("_old"), F.col("_key").alias("_new"))
        return nothing.withColumn("_keys", none).limit(0)
    # Halves lie at one position: files older than the batch are skipped by their statistics.
    near = rows.where(major(F.col("_seq")) >= major(F.lit(first)))
    links = new.select("_link").distinct()
    deletes, creates = (F.col("_op") == op.value for op in (Op.DELETE, Op.CREATE))
    pair = (F.col("left") == 1) & (F.col("came") == 1)
    return (
        near.join(links, "_link", "left_semi")
        .select("_link", "_op", "_key", "_identity")
        .distinct()
        .groupBy("_link")
        .agg(
            F.count_if(deletes).alias("left"),
            F.count_if(creates).alias("came"),
            F.max(F.when(deletes, F.col("_key"))).alias("gone"),
            F.max(F.when(creates, F.col("_key"))).alias("new"),
            F.collect_set("_key").alias("_keys"),
        )
        .where(
            (F.col("left") > 0) & (F.col("came") > 0) & (~pair | (F.col("gone") != F.col("new")))
        )
        .select(
            "_link",
            F.when(pair, F.col("gone")).alias("_old"),
            F.when(pair, F.col("new")).alias("_new"),
            "_keys",
        )
    )


def halves(on_record: DataFrame) -> DataFrame:
    """`_link, _old, _new`: the moves, of all that was ever judged."""
    crowded = on_record.where(F.col("_old").isNull()).select("_link")
    return on_record.join(crowded, "_link", "left_anti")


def announced(changes: DataFrame, moves: DataFrame) -> DataFrame:
    """Changes of whose key moves both halves name each other, as headers would have them."""
    mine = [F.col(f"c.{quoted(name)}") for name in changes.columns if name not in _NAMED]
    c, m = changes.alias("c"), F.broadcast(moves.distinct()).alias("m")
    delete, create = (F.col("c._op") == op.value for op in (Op.DELETE, Op.CREATE))
    old, new = F.col("c._key") == F.col("m._old"), F.col("c._key") == F.col("m._new")
    of_move = (F.col("c._link") == F.col("m._link")) & ((delete & old) | (create & new))
    found = F.col("m._link").isNotNull()
    return c.join(m, of_move, "left").select(
        *mine,
        F.when(found & delete, F.col("m._new")).otherwise(F.col("c._moved_to")).alias("_moved_to"),
        F.when(found & create, F.col("m._old"))
        .otherwise(F.col("c._moved_from"))
        .alias("_moved_from"),
        F.when(found, "move").otherwise(F.col("c._kind")).alias("_kind"),
    )


_NAMED = ("_moved_to", "_moved_from", "_kind")
