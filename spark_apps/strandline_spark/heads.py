"""Which keys a run touches, and how: by appending to their last version, or from the beginning.

A key is *appended to* when everything new of it is newer than all that it has shown, most of them
as `orderly` ones. Otherwise it is *re-derived* from all its changes: late or repeated changes, late
truncates, key moves, and every key that hangs on such a one by moves. So a run costs what arrived,
not what is stored.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline.changes.version import ClosedBy
from strandline.runs.receipt import Counts
from strandline_spark import orderly, settings
from strandline_spark.changes import quoted
from strandline_spark.checkpoint import kept
from strandline_spark.distinct import major
from strandline_spark.fences import precedes
from strandline_spark.link import pair
from strandline_spark.orderly import Latest
from strandline_spark.single import single

# Keys that every task may be told of.
_FEW = 100_000


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a table before the run; None where there is nothing yet.

    `heads` are the last versions of every key that the run may touch by more than its moves.
    `latest`: behind which places no fence of the table stands; None where that is not one for all.
    `waiting` are the pairs of keys (`link.pair`) between which half a move has come.
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
    latest: Latest | None = None
    waiting: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys with records in a run: `_key, _rederive, _orderly`, how many, and how many orderly.

    `changes` are those of the orderly keys; `partial`: whether one of them leaves columns out.
    `_is_current` of a key that is not re-derived: whether its head is open, NULL where it has none.
    """

    rows: DataFrame
    count: int
    orderly: int
    changes: int
    partial: bool

    def of(self, rows: DataFrame, *, orderly: bool) -> DataFrame:
        """Of rows of these keys those of the orderly ones, or of all others."""
        if self.orderly in {0, self.count}:
            return rows if orderly == bool(self.orderly) else rows.limit(0)
        others = self.rows.where(~F.col("_orderly")).select("_key")
        others = spread(others, self.count - self.orderly)
        return rows.join(others, "_key", "left_anti" if orderly else "left_semi")


@dataclass(frozen=True, slots=True)
class Touched(Keys):
    """The keys that a run touches in a history, and how many are re-derived.

    `old` are the versions that the run replaces: of a key that is appended to the head, of a
    re-derived one everything; `gone` are their totals. `former` are those of re-derived keys, kept:
    `_key, _seq_from, _is_current`; None where there are no such keys.
    """

    rederived: int
    old: DataFrame
    gone: Counts
    former: DataFrame | None

    @property
    def appended(self) -> DataFrame:
        """`_key` of those that go on from their last version, but for the orderly ones."""
        rows = self.rows.where(~F.col("_rederive") & ~F.col("_orderly")).select("_key")
        return spread(rows, self.count - self.orderly - self.rederived)

    @property
    def derived_anew(self) -> DataFrame:
        """`_key` of those that are re-derived."""
        return spread(self.rows.where("_rederive").select("_key"), self.rederived)

    def none(self) -> "Touched":
        """No key at all."""
        return Touched(self.rows.limit(0), 0, 0, 0, False, 0, self.old.limit(0), Counts(), None)


def spread(keys: DataFrame, count: int) -> DataFrame:
    """Keys to join with: of few every task is told, so that the other side stays where it is.

    Spark does not know by itself how few are left of rows that were kept.
    """
    return F.broadcast(keys) if count <= _FEW else keys


def heads(
    history: DataFrame, batch: DataFrame, records: int, new_fences: DataFrame | None
) -> DataFrame:
    """The last version of each key of the batch; of every key where a truncate may touch it.

    `records` is how many the batch has, so there are no more keys than that.
    """
    last = history.where("_is_head")
    if new_fences is None:
        keys = batch.select("_key")
        # To tell every task of a key twice costs less than to find out that it came twice.
        keys = F.broadcast(keys) if records <= _FEW else keys.distinct()
        last = last.join(keys, "_key", "left_semi")
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


def of_first_run(
    rows: DataFrame, run: int, moves: DataFrame | None, latest: Latest | None, *, shifts: bool
) -> Keys:
    """The keys of a table that has no history yet, and those at the other end of their moves."""
    keys = orderly.by_key(rows, run, shifts=shifts)
    beyond = _is_beyond(latest, F.col("first"))
    keys = keys.withColumn("_is_current", F.lit(None).cast("boolean"))
    found = _judged(keys, again=F.lit(False), orderly=F.col("shows") & beyond)
    if moves is not None:
        ends = F.explode(F.array("_key", "_moved_to", "_moved_from")).alias("_key")
        found = _united(found.unionByName(_others(moves.select(ends).dropna(), again=False)))
    rows, size = _counted(found, *_sizes())
    return Keys(rows, **size)


def touched(batch: DataFrame, run: int, standing: Standing) -> Touched:
    """Every key that a run's batch touches, by its changes or by a truncate."""
    heads, appended = standing.heads, ~F.col("_rederive")
    rows, size = _counted(
        _touched(batch, run, standing),
        *_sizes(),
        F.count_if("_rederive").alias("rederived"),
        F.count_if(appended & F.col("_is_current").isNotNull()).alias("heads"),
        F.count_if(appended & F.col("_is_current")).alias("live"),
    )
    gone = Counts(history_rows=size.pop("heads"), current_rows=size.pop("live"))
    if not size["rederived"]:
        old = heads.join(rows.select("_key"), "_key")
        return Touched(rows, **size, old=old, gone=gone, former=None)
    old = standing.history.join(rows.select("_key", "_rederive"), "_key")
    old = old.where(F.col("_is_head") | F.col("_rederive")).drop("_rederive")
    found = Touched(rows, **size, old=old, gone=gone, former=None)
    former = standing.history.select("_key", "_seq_from", "_is_current")
    former = kept(former.join(found.derived_anew, "_key", "left_semi"))
    return replace(found, gone=_added(gone, totals(former)), former=former)


def _counted(found: DataFrame, *sizes: Column) -> tuple[DataFrame, dict[str, Any]]:
    """The keys, kept, and their numbers, which the same pass observes."""
    seen = Observation("keys")
    with settings.during(found.sparkSession, orderly.SETTINGS):
        return kept(found.observe(seen, *sizes)), seen.get


def _sizes() -> list[Column]:
    own = F.col("_orderly")
    return [
        F.count("*").alias("count"),
        F.count_if(own).alias("orderly"),
        F.coalesce(F.sum(F.when(own, F.col("changes"))), F.lit(0)).alias("changes"),
        (F.count_if(own & F.col("partial")) > 0).alias("partial"),
    ]


def totals(versions: DataFrame) -> Counts:
    """How many versions there are, and how many of them are open."""
    counts = F.count("*").alias("all"), F.count_if("_is_current").alias("open")
    found = single(versions.agg(*counts))
    return Counts(history_rows=found["all"], current_rows=found["open"])


def _added(one: Counts, other: Counts) -> Counts:
    return replace(
        one,
        history_rows=one.history_rows + other.history_rows,
        current_rows=one.current_rows + other.current_rows,
    )


def _touched(batch: DataFrame, run: int, standing: Standing) -> DataFrame:
    keys = orderly.by_key(batch, run, shifts=standing.shifts)
    heads = standing.heads.select("_key", "_is_current", "_tx_id", F.col("_seq_seen").alias("seen"))
    joined = keys.join(heads, "_key", "left")
    if standing.deleted_keys is not None:
        deleted = standing.deleted_keys.groupBy("_key").agg(F.max("_seq_seen").alias("gone"))
        joined = joined.join(deleted, "_key", "left")
        joined = joined.withColumn("seen", F.greatest("seen", "gone"))
    again = F.coalesce(F.col("oldest") <= major(F.col("seen")), F.lit(False))
    again |= F.col("moved") | F.col("dangling")
    if standing.shifts:
        # A transaction that goes on: its first part may have to be read in another order now.
        # One that takes the key over: which row it then deletes may be one that stands.
        again |= F.coalesce(F.array_contains("tx_ids", F.col("_tx_id")), F.lit(False))
        overtaken = F.arrays_overlap("created", "deleted") & F.col("_is_current")
        again |= F.coalesce(overtaken, F.lit(False)) | F.col("busy")
    has_row = F.col("shows") | F.col("_is_current").isNotNull()
    # A row that stands open may be ended by a fence behind it; one that has ended cannot.
    stands = F.when(F.col("_is_current"), F.col("seen")).otherwise(F.col("first"))
    beyond = _is_beyond(standing.latest, stands)
    found = _judged(joined, again=again, orderly=has_row & beyond)
    if standing.unsettled is not None:
        found = _united(found.unionByName(_others(standing.unsettled, again=True)))
    if standing.local is not None:
        found = _with_cut(found, batch, standing, standing.local)
    if standing.new_fences is not None:
        found = _with_fenced(found, standing, standing.new_fences)
    if standing.moves is None:
        return found
    found = kept(found)
    if standing.waiting:
        found = kept(_with_left(found, standing.moves, standing.waiting))
    return _with_chains(found, standing.moves)


def _judged(keys: DataFrame, *, again: Column, orderly: Column) -> DataFrame:
    """What a run does with each key; `orderly`: whether one may be that is so by itself."""
    found = keys.withColumns({"_rederive": again, "_orderly": F.col("_orderly") & orderly & ~again})
    return found.select("_key", "_rederive", "_orderly", "changes", "partial", "_is_current")


def _is_beyond(latest: Latest | None, seq: Column) -> Column:
    return F.lit(False) if latest is None else F.coalesce(latest.is_before(seq), F.lit(False))


def _others(keys: DataFrame, *, again: bool, live: bool = False) -> DataFrame:
    """Keys that are touched by more than their own records; `live`: their heads are open."""
    nothing = {"_orderly": F.lit(False), "changes": F.lit(0), "partial": F.lit(False)}
    head = F.lit(True if live else None).cast("boolean")
    own = {"_rederive": F.lit(again), "_is_current": head}
    return keys.select("_key").withColumns({**nothing, **own})


def _with_fenced(found: DataFrame, standing: Standing, fences: DataFrame) -> DataFrame:
    """Adds the keys that a new truncate closes: live ones; re-derived, where it comes late."""
    cuts = F.broadcast(fences.select(F.col("_seq").alias("_cut"), "_sweep"))
    # A read at the place of a truncate is stale: it saw what the truncate then took away. At that
    # of a sweep stand the reads of its own snapshot.
    here = major(F.col("_seq_from")) == major(F.col("_cut"))
    stale = (F.col("_op") == Op.READ.value) & here & ~F.col("_sweep")
    late = (
        standing.history.join(
            cuts,
            ((F.col("_seq_from") < F.col("_cut")) | stale)
            & (F.col("_seq_to").isNull() | (F.col("_cut") <= F.col("_seq_to"))),
        )
        .select("_key", "_cut")
        .join(standing.heads.select("_key", "_seq_seen"), "_key")
        .where(F.col("_seq_seen") >= F.col("_cut"))
    )
    live = standing.heads.where("_is_current")
    cut = _others(late, again=True).unionByName(_others(live, again=False, live=True))
    return _united(found.unionByName(cut))


def _with_cut(found: DataFrame, batch: DataFrame, standing: Standing, cuts: DataFrame) -> DataFrame:
    """Adds the keys of new rows behind which a shard's truncate stands; with new fences, all."""
    place = F.broadcast(cuts.select(F.col("_local").alias("_cut")))
    behind = batch.join(place, precedes(F.col("_local"), F.col("_cut")), "left_semi")
    found = found.unionByName(_others(behind, again=True))
    if standing.new_fences is not None:
        found = found.unionByName(_others(standing.heads, again=True))
    return _united(found)


def _united(found: DataFrame) -> DataFrame:
    return found.groupBy("_key").agg(
        F.max("_rederive").alias("_rederive"),
        F.min("_orderly").alias("_orderly"),
        F.max("changes").alias("changes"),
        F.max("partial").alias("partial"),
        F.max("_is_current").alias("_is_current"),
    )


def _with_left(found: DataFrame, moves: DataFrame, waiting: Collection[str]) -> DataFrame:
    """Re-derives a key that a row has left for another, unseen: there its changes tell, too."""
    left = moves.where(pair("_moved_from", "_key").isin(*waiting))
    keys = left.select(F.col("_moved_from").alias("_key")).join(found, "_key", "left_semi")
    return _united(found.unionByName(_others(keys, again=True)))


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
    return _united(found.unionByName(_others(chained, again=True)))


def same(versions: DataFrame, old: DataFrame) -> bool:
    """Whether as many versions are the old ones, whenever they were recorded."""
    if dict(versions.dtypes).items() - dict(old.dtypes).items():
        return False
    names = [quoted(name) for name in versions.columns if name != "_recorded_at"]
    return versions.select(*names).exceptAll(old.select(*names)).isEmpty()
