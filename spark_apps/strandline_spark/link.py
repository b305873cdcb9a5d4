"""Stage link in columns; the twin of `strandline.law.group.link`.

Rows are the distinct changes of whole keys, or a *base* row (`_op` base: the last version of a key
as its history has it) and changes newer than it. Every row learns its life (`_life`, the `_seq` of
the image that opened it) and its lineage (`_root_key`, `_root_life`, `_depth`; `_line`: the lives
that it has its values from).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

from pyspark.sql import Column, DataFrame, Row, Window, WindowSpec
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline_spark.changes import quoted
from strandline_spark.checkpoint import kept
from strandline_spark.distinct import is_end, is_last, is_placed, major
from strandline_spark.keys import digest
from strandline_spark.windows import of_key

BASE = "base"
_LONG = 16  # moves of one row in a run: before that nobody counts
PAIR_DIGITS = 16
_MOST = 1_000  # pairs of keys whose halves wait for each other
_DEPARTURE = ("_key", "_moved_to", "_link", "_seq")


@dataclass(frozen=True, slots=True)
class Linked:
    """Rows with lives and lineage; by pair of keys, how many halves of moves came alone.

    A pair that was waited for is there with none, if its halves have met.
    """

    rows: DataFrame
    waiting: Mapping[str, int]


def is_image() -> Column:
    """A row that leaves its key alive: a create, update or read, or a base that stands open."""
    return F.col("_shows") | ((F.col("_op") == BASE) & F.col("_is_current"))


def by_key() -> WindowSpec:
    """The rows of a key in source order; an end where an image (`_shows`) stands is before it."""
    return of_key().orderBy("_seq", "_shows")


def so_far(window: WindowSpec) -> WindowSpec:
    """From the first row to this one."""
    return window.rowsBetween(Window.unboundedPreceding, Window.currentRow)


def earlier(window: WindowSpec) -> WindowSpec:
    """All rows before this one."""
    return window.rowsBetween(Window.unboundedPreceding, -1)


def not_stale(rows: DataFrame, *, reads_last: bool) -> DataFrame:
    """Drops stale reads: outdated ones, and those after a change or truncate at one position.

    Where a snapshot's read is known to have seen everything at its position, only after a delete.
    """
    streamed = ~F.col("_op").isin(Op.READ.value, Op.TOMBSTONE.value, BASE)
    change = F.when(streamed, F.struct(major(F.col("_seq")).alias("major"), "_op"))
    last = F.last(change, ignorenulls=True).over(earlier(by_key()))
    # Without a place in the log (flattened records) offsets order, and a later read is newer.
    own = F.col("_seq")
    behind = F.coalesce(is_placed(own) & (last["major"] == major(own)), F.lit(False))
    deleted = behind & (last["_op"] == Op.DELETE.value)
    stale = behind | F.col("_cut_here")
    stale = F.when(is_last(own), deleted).otherwise(stale) if reads_last else stale
    stale = (F.col("_op") == Op.READ.value) & (stale | F.col("_outdated"))
    kept = rows.withColumn("_stale", stale)
    return kept.where(~F.col("_stale")).drop("_stale", "_cut_here", "_outdated")


def lives(rows: DataFrame) -> DataFrame:
    """Adds `_opens`, `_ends`, `_life`, `_seen`; drops what changes nothing.

    `_scope` becomes the table that showed the key's row last: a base row goes on in it. Expects
    `_fence`: the first fence after the row, a struct of `_seq`, `_time` and `_sweep`.
    """
    following = F.lead("_seq").over(by_key())
    cut = F.col("_fence._seq")
    fenced = cut.isNotNull() & (following.isNull() | (cut < following))
    seen = F.greatest(F.coalesce(F.col("_seq_seen"), F.col("_seq")), F.when(fenced, cut))
    live = F.coalesce(F.lag(is_image() & ~F.col("_fenced")).over(by_key()), F.lit(False))
    create = F.col("_op") == Op.CREATE.value
    shown = F.max_by("_scope", F.when(is_image() & F.col("_scope").isNotNull(), F.col("_seq")))
    scope = F.coalesce(shown.over(of_key()), F.col("_scope"))
    opened = F.when(F.col("_opens"), F.struct("_seq", "_base_entity_id"))
    return (
        rows.withColumn("_fenced", fenced)
        .withColumns({"_seen": F.max(seen).over(of_key()), "_live": live, "_scope": scope})
        .withColumns(
            {
                "_opens": is_image() & (~F.col("_live") | create),
                "_ends": is_end() & F.col("_live"),
            }
        )
        .withColumn("_opened", F.last(opened, ignorenulls=True).over(so_far(by_key())))
        .withColumns(
            {"_life": F.col("_opened._seq"), "_entity_from": F.col("_opened._base_entity_id")}
        )
        .drop("_fenced", "_live", "_opened")
    )


def unmoved(rows: DataFrame) -> DataFrame:
    """The lineage of keys that never moved: each life is its own root."""
    return rows.select(
        "*",
        F.col("_key").alias("_root_key"),
        F.col("_life").alias("_root_life"),
        F.lit(0).alias("_depth"),
        _line("_key", "_life").alias("_line"),
        F.lit(True).alias("_own"),
    )


def _line(key: str, life: str) -> Column:
    """A name for it; a deleted key's last version has no life, but its own values too."""
    return F.concat(F.col(key), F.lit("@"), F.coalesce(F.col(life), F.lit("")))


def pair(old: str, new: str) -> Column:
    """A name for two keys between which a row moved: the first digits of their digests."""
    return F.concat(*(digest(key).substr(1, PAIR_DIGITS) for key in (old, new)))


def moved(
    rows: DataFrame, unseen: DataFrame | None = None, expected: Collection[str] = ()
) -> Linked:
    """The lineage of keys some of which moved; every key of a chain has to be among the rows.

    `unseen` are the deletes of rows that were never seen: halves of moves that ended nothing.
    `expected` are the pairs of keys that were waited for.
    """
    leaving = F.col("_op").isin(Op.DELETE.value, Op.TOMBSTONE.value)
    arrivals = rows.where(F.col("_moved_from").isNotNull() & (F.col("_op") == Op.CREATE.value))
    departures = rows.where(F.col("_moved_to").isNotNull() & leaving)
    arrived = arrivals.select(
        F.col("_key").alias("_child_key"),
        F.col("_life").alias("_child_life"),
        F.col("_moved_from").alias("_old_key"),
        F.col("_link").alias("at"),
        _times("_moved_from", "_key").alias("nth"),
    ).alias("a")
    left_life = F.when(F.col("_ends"), F.col("_life")).alias("_left_life")
    departures = departures.select(*_DEPARTURE, left_life)
    if unseen is not None:
        halves = unseen.where(F.col("_moved_to").isNotNull()).select(*_DEPARTURE)
        departures = departures.unionByName(halves, allowMissingColumns=True)
    departed = departures.select(
        F.col("_moved_to").alias("_new_key"),
        F.col("_key").alias("_left_key"),
        F.col("_link").alias("left_at"),
        "_left_life",
        _times("_key", "_moved_to").alias("left_nth"),
    )
    same = (
        (F.col("_old_key") == F.col("_left_key"))
        & (F.col("_child_key") == F.col("_new_key"))
        & F.col("at").eqNullSafe(F.col("left_at"))
        & (F.col("nth") == F.col("left_nth"))
    )
    paired = kept(arrived.join(departed, same, "full"))
    arrived_alone = F.col("_left_key").isNull()
    alone = _alone(paired, expected)
    waiting = any(row["arrived"] for row in alone)
    edges = paired.where(F.col("_left_life").isNotNull() & F.col("_child_key").isNotNull()).select(
        "_child_key", "_child_life", F.col("_left_key").alias("_parent_key"),
        F.col("_left_life").alias("_parent_life"),
    )  # fmt: skip
    if waiting:
        edges = kept(edges.unionByName(_standing(paired.where(arrived_alone), rows)))
    roots = _roots(edges)
    if roots is None:
        edges = kept(_without_rings(edges))
        roots = cast("DataFrame", _roots(edges))  # no line comes back to itself now
    rooted = _with_roots(rows, roots)
    if waiting and _forks(edges):
        rooted = _in_lines(rooted, _above(edges))
    return Linked(rooted, {row["pair"]: row["halves"] for row in alone})


def _alone(paired: DataFrame, expected: Collection[str]) -> list[Row]:
    """`pair, halves, arrived`: how many halves are alone, and how many of these are second ones.

    A table where more pairs than `_MOST` wait is not understood: nobody needs to know all of them.
    Those waited for come first, that they are known to have met; then those with a second half.
    """
    arrived, departed = F.col("_child_key").isNotNull(), F.col("_left_key").isNotNull()
    old, new = F.coalesce("_old_key", "_left_key"), F.coalesce("_child_key", "_new_key")
    found = (
        paired.withColumns({"_old": old, "_new": new})
        .groupBy(pair("_old", "_new").alias("pair"))
        .agg(
            F.count_if(~(arrived & departed)).alias("halves"),
            F.count_if(~departed).alias("arrived"),
        )
        .withColumn("expected", F.col("pair").isin(*expected))
        .where((F.col("halves") > 0) | F.col("expected"))
        .orderBy(F.desc("expected"), F.desc("arrived"), "pair")
    )
    return found.limit(_MOST + len(expected)).collect()


def still_out(waited: Mapping[str, int], found: Mapping[str, int]) -> dict[str, int]:
    """The halves that wait after a run: those before it, changed by what it found.

    Never more pairs than `_MOST`: they go with every commit.
    """
    left = {pair: halves for pair, halves in {**waited, **found}.items() if halves}
    return dict(islice(left.items(), _MOST))


def _times(old: str, new: str) -> Column:
    """Which move between two keys at one place it is."""
    return F.row_number().over(Window.partitionBy(old, new, "_link").orderBy("_seq"))


def _standing(waiting: DataFrame, rows: DataFrame) -> DataFrame:
    """The last life that began before a move whose first half is still out; none that had ended."""
    following, cut = F.lead("_seq").over(by_key()), F.col("_fence._seq")
    fenced = is_image() & (following.isNull() | (cut < following))
    end = F.when(F.col("_ends"), F.col("_seq")).otherwise(F.when(fenced, cut))
    begun = (
        rows.withColumn("_died", end)
        .groupBy(F.col("_key").alias("_parent_key"), F.col("_life").alias("_parent_life"))
        .agg(F.max("_died").alias("_died"), F.max("_opens").alias("_opens"))
        .where("_opens")
    )
    dead = major(F.col("_died")) < major(F.col("_child_life"))
    return (
        waiting.join(
            begun,
            (F.col("_old_key") == F.col("_parent_key"))
            & (F.col("_parent_life") < F.col("_child_life")),
        )
        .groupBy("_child_key", "_child_life", "_parent_key")
        .agg(F.max(F.struct("_parent_life", "_died")).alias("_last"))
        .select("_child_key", "_child_life", "_parent_key", "_last.*")
        .where(~F.coalesce(dead, F.lit(False)))
        .drop("_died")
    )


def _roots(edges: DataFrame) -> DataFrame | None:
    """Each life's root and its depth below it, by doubling the distance each round.

    None where a line is longer than there are lives: it comes back to itself.
    """
    longest = 1
    found = edges.select(
        "_child_key", "_child_life", F.col("_parent_key").alias("_root_key"),
        F.col("_parent_life").alias("_root_life"), F.lit(1).alias("_depth"),
    )  # fmt: skip
    while True:
        further = found.select(
            F.col("_child_key").alias("_via_key"), F.col("_child_life").alias("_via_life"),
            F.col("_root_key").alias("_far_key"), F.col("_root_life").alias("_far_life"),
            F.col("_depth").alias("_far_depth"),
        )  # fmt: skip
        at = (F.col("_root_key") == F.col("_via_key")) & (F.col("_root_life") == F.col("_via_life"))
        if found.join(further, at, "left_semi").isEmpty():
            return found
        longest *= 2
        if longest > _LONG and longest > edges.count():
            return None
        doubled = found.join(further, at, "left").select(
            "_child_key", "_child_life",
            F.coalesce("_far_key", "_root_key").alias("_root_key"),
            F.coalesce("_far_life", "_root_life").alias("_root_life"),
            (F.col("_depth") + F.coalesce("_far_depth", F.lit(0))).alias("_depth"),
        )  # fmt: skip
        found = kept(doubled)


def _without_rings(edges: DataFrame) -> DataFrame:
    """Of lineages that come back to themselves the life that opened first began each."""
    child, far = (F.struct(f"_{of}_life", f"_{of}_key") for of in ("child", "far"))
    rings = (
        _above(edges)
        .groupBy("_child_key", "_child_life")
        .agg(F.max(child == far).alias("_found"), F.min(far).alias("_first"))
        .where(F.col("_found") & (child == F.col("_first")))
    )
    return edges.join(rings, ["_child_key", "_child_life"], "left_anti")


def _with_roots(rows: DataFrame, roots: DataFrame) -> DataFrame:
    of_life = (F.col("_key") == F.col("_child_key")) & (F.col("_life") == F.col("_child_life"))
    return rows.join(F.broadcast(roots), of_life, "left").select(
        *(F.col(quoted(name)) for name in rows.columns),
        F.coalesce("_root_key", "_key").alias("_root_key"),
        F.coalesce("_root_life", "_life").alias("_root_life"),
        F.coalesce("_depth", F.lit(0)).alias("_depth"),
        F.coalesce(_line("_root_key", "_root_life"), _line("_key", "_life")).alias("_line"),
        F.lit(True).alias("_own"),
    )


def _forks(edges: DataFrame) -> bool:
    """Whether a life goes on in two: both are of moves whose first half is still out."""
    children = edges.groupBy("_parent_key", "_parent_life").agg(F.count("*").alias("children"))
    return not children.where("children > 1").isEmpty()


def _in_lines(rows: DataFrame, above: DataFrame) -> DataFrame:
    """The rows of each life with copies, not `_own`, of those of all the lives it came from.

    The sides of a fork have the values before it in common, and none of each other's.
    """
    of_life = (F.col("_key") == F.col("_far_key")) & (F.col("_life") == F.col("_far_life"))
    plain = rows.drop("_line", "_own")
    own = plain.select("*", _line("_key", "_life").alias("_line"), F.lit(True).alias("_own"))
    copies = plain.join(F.broadcast(above), of_life).select(
        *map(quoted, plain.columns),
        _line("_child_key", "_child_life").alias("_line"),
        F.lit(False).alias("_own"),
    )
    return own.unionByName(copies)


def _above(edges: DataFrame) -> DataFrame:
    """`_child_key, _child_life, _far_key, _far_life`: each life with all that it came from."""
    found = edges.toDF("_child_key", "_child_life", "_far_key", "_far_life")
    while True:
        further = found.toDF("_via_key", "_via_life", "_far_key", "_far_life")
        at = (F.col("f._far_key") == F.col("_via_key")) & (
            F.col("f._far_life") == F.col("_via_life")
        )
        reached = (
            found.alias("f")
            .join(further.alias("g"), at)
            .select("_child_key", "_child_life", "g._far_key", "g._far_life")
        )
        new = kept(kept(reached.distinct()).join(found, found.columns, "left_anti"))
        if new.isEmpty():
            return found
        found = found.unionByName(new)
