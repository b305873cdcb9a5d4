"""Which keys a run touches, and how: by appending to their last version, or from the beginning.

A key is *appended to* when everything new of it is newer than all that it has shown. Otherwise it
is *re-derived* from all its changes: late or repeated changes, late truncates, key moves, and every
key that hangs on such a one by moves. So a run costs what arrived (DESIGN §3.2).
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline.change import Op
from strandline.version import ClosedBy
from strandline_spark.changes import quoted
from strandline_spark.distinct import is_end, major, raw
from strandline_spark.fences import precedes
from strandline_spark.memory import kept
from strandline_spark.windows import hashed

_TURNS = (Op.CREATE, Op.DELETE)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a table before the run; None where there is nothing yet.

    `heads` are the last versions of every key that the run may touch by more than its moves.
    `new_fences` are those that stand where none stood before. `unsettled` are keys whose changes or
    truncates in flight may stand elsewhere now. `local` are the truncates that only the log of a
    shard orders: behind the rows that lie before them there.
    """

    history: DataFrame
    heads: DataFrame
    deleted_keys: DataFrame | None
    moves: DataFrame | None
    new_fences: DataFrame | None
    unsettled: DataFrame | None = None
    local: DataFrame | None = None
    shifts: bool = False


@dataclass(frozen=True, slots=True)
class Touched:
    """The keys that a run touches: `_key, _rederive`, how many, and how many are re-derived.

    `old` are the versions that it replaces: of a key that is appended to the head, of a re-derived
    one everything.
    """

    rows: DataFrame
    count: int
    rederived: int
    old: DataFrame

    def none(self) -> "Touched":
        """No key at all."""
        return Touched(self.rows.limit(0), 0, 0, self.old.limit(0))


def heads(history: DataFrame, batch: DataFrame, new_fences: DataFrame | None) -> DataFrame:
    """The last version of each key of the batch; of every key where a truncate may touch it."""
    last = history.where("_is_head")
    if new_fences is None:
        last = last.join(batch.select("_key").distinct(), "_key", "left_semi")
    return kept(last)


def unsettled(rows: DataFrame, history: DataFrame, fences: DataFrame | None) -> DataFrame:
    """Keys with changes in flight, and those closed by a truncate which stands there no more."""
    flying = rows.where("_in_flight").select("_key")
    if fences is None:
        return flying
    cut = history.where(F.col("_closed_by") == ClosedBy.TRUNCATE.value)
    places = F.broadcast(fences.select(major(F.col("_seq")).alias("_place")))
    left = F.col("_place") == major(F.col("_seq_to"))
    return flying.unionByName(cut.join(places, left, "left_anti").select("_key"))


def touched(batch: DataFrame, standing: Standing) -> Touched:
    """Every key that the batch touches, by its changes or by a truncate."""
    rows = _touched(batch, standing)
    size = rows.agg(F.count("*").alias("all"), F.count_if("_rederive").alias("rederived")).first()
    known = standing.history if size["rederived"] else standing.heads
    old = known.join(rows, "_key").where(F.col("_is_head") | F.col("_rederive")).drop("_rederive")
    return Touched(rows, size["all"], size["rederived"], old)


def _touched(batch: DataFrame, standing: Standing) -> DataFrame:
    keys = _by_key(batch)
    seen = standing.heads.select("_key", "_seq_seen")
    if standing.deleted_keys is not None:
        seen = seen.unionByName(standing.deleted_keys.select("_key", "_seq_seen"))
        seen = seen.groupBy("_key").agg(F.max("_seq_seen").alias("_seq_seen"))
    late = F.coalesce(F.col("oldest") <= major(F.col("_seq_seen")), F.lit(False))
    joined = keys.join(seen, "_key", "left")
    again = late | F.col("moved") | F.col("dangling")
    if standing.shifts:
        # A transaction that goes on: its first part may have to be read in another order now.
        # One that takes the key over: which row it then deletes may be one that stands.
        begun = standing.heads.select("_key", F.col("_tx_id").alias("begun"), "_is_current")
        joined = joined.join(begun, "_key", "left")
        again |= F.coalesce(F.array_contains("tx_ids", F.col("begun")), F.lit(False))
        overtaken = F.arrays_overlap("created", "deleted") & F.col("_is_current")
        again |= F.coalesce(overtaken, F.lit(False))
    found = joined.select("_key", again.alias("_rederive"))
    if standing.unsettled is not None:
        unsettled = standing.unsettled.select("_key", F.lit(True).alias("_rederive"))
        found = _united(found.unionByName(unsettled))
    if standing.local is not None:
        found = _with_cut(found, batch, standing, standing.local)
    if standing.new_fences is not None:
        found = _with_fenced(found, standing, standing.new_fences)
    found = kept(found)
    return found if standing.moves is None else _with_chains(found, standing.moves)


def _by_key(batch: DataFrame) -> DataFrame:
    """Per key: its oldest new position, whether it moved, whether a tombstone hangs in the air.

    A tombstone that no delete precedes in the batch may belong to one before it, and may have come
    before, with a record of an earlier run beside it.
    """
    tombstone = F.col("_op") == Op.TOMBSTONE.value
    after_end = F.coalesce(F.lag(is_end()).over(raw()), F.lit(False))
    created, deleted = (F.when(F.col("_op") == op.value, F.col("_tx_id")) for op in _TURNS)
    return (
        hashed(batch)
        .withColumn("_dangling", tombstone & ~after_end)
        .groupBy("_key")
        .agg(
            F.min(F.when(~tombstone, major(F.col("_seq")))).alias("oldest"),
            F.max(F.col("_kind") == "move").alias("moved"),
            F.max("_dangling").alias("dangling"),
            F.collect_set("_tx_id").alias("tx_ids"),
            F.collect_set(created).alias("created"),
            F.collect_set(deleted).alias("deleted"),
        )
    )


def _with_fenced(found: DataFrame, standing: Standing, fences: DataFrame) -> DataFrame:
    """Adds the keys that a new truncate closes: live ones; re-derived, where it comes late."""
    cuts = F.broadcast(fences.select(F.col("_seq").alias("_cut")))
    late = (
        standing.history.join(
            cuts,
            (F.col("_seq_from") < F.col("_cut"))
            & (F.col("_seq_to").isNull() | (F.col("_cut") <= F.col("_seq_to"))),
        )
        .select("_key", "_cut")
        .join(standing.heads.select("_key", "_seq_seen"), "_key")
        .where(F.col("_seq_seen") >= F.col("_cut"))
        .select("_key", F.lit(True).alias("_rederive"))
    )
    live = standing.heads.where("_is_current").select("_key", F.lit(False).alias("_rederive"))
    return _united(found.unionByName(late).unionByName(live))


def _with_cut(found: DataFrame, batch: DataFrame, standing: Standing, cuts: DataFrame) -> DataFrame:
    """Adds the keys of new rows behind which a shard's truncate stands; with new fences, all."""
    again = F.lit(True).alias("_rederive")
    place = F.broadcast(cuts.select(F.col("_local").alias("_cut")))
    behind = batch.join(place, precedes(F.col("_local"), F.col("_cut")), "left_semi")
    found = found.unionByName(behind.select("_key", again))
    if standing.new_fences is not None:
        found = found.unionByName(standing.heads.select("_key", again))
    return _united(found)


def _united(found: DataFrame) -> DataFrame:
    return found.groupBy("_key").agg(F.max("_rederive").alias("_rederive"))


def _with_chains(found: DataFrame, moves: DataFrame) -> DataFrame:
    """Adds every key that hangs on a re-derived one by moves, in either direction, however far."""
    forward = moves.select("_key", F.coalesce("_moved_to", "_moved_from").alias("other"))
    backward = forward.select(F.col("other").alias("_key"), F.col("_key").alias("other"))
    edges = forward.unionByName(backward).distinct()
    chained = found.where("_rederive").select("_key")
    frontier = chained
    while not frontier.isEmpty():
        reached = frontier.join(edges, "_key").select(F.col("other").alias("_key")).distinct()
        frontier = kept(reached.join(chained, "_key", "left_anti"))
        chained = chained.unionByName(frontier)
    all_keys = found.unionByName(chained.select("_key", F.lit(True).alias("_rederive")))
    return kept(_united(all_keys))


def same(versions: DataFrame, old: DataFrame) -> bool:
    """Whether as many versions are the old ones, whenever they were recorded."""
    if dict(versions.dtypes).items() - dict(old.dtypes).items():
        return False
    names = [quoted(name) for name in versions.columns if name != "_recorded_at"]
    return versions.select(*names).exceptAll(old.select(*names)).isEmpty()
