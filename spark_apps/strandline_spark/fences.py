"""Fences in columns: truncates, and the sweeps of complete snapshots (`interpreter.sweep`)."""

from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.notification import Snapshot
from strandline_spark import servers
from strandline_spark.changes import META
from strandline_spark.distinct import before_phase, directly_after, major
from strandline_spark.link import by_key, is_image, so_far
from strandline_spark.shallow import any_of
from strandline_spark.windows import of_key

SWEEP = "sweep"
_FENCE = (
    "struct<_seq: string, _scope: string, _sweep: boolean, _time: timestamp, "
    "_partition: int, _offset: bigint>"
)


def fenced(rows: DataFrame, fences: DataFrame | None, *, shared: bool) -> DataFrame:
    """Adds `_fence`, the first fence after each row that concerns its table, and `_cut_here`.

    A key may come back in another table of its topic: where its last image came from, there it is.
    There are few fences: they travel as one array. `_cut_here` says that a truncate stands at the
    row's own position. `shared`: rows of other transactions may have a truncate's position; in its
    own partition the offset tells then (ordering-notes §9, A11).
    """
    if fences is None:
        nothing = F.lit(None).cast(_FENCE)
        return rows.withColumns({"_fence": nothing, "_cut_here": F.lit(False)})
    fence = F.struct("_seq", "_scope", "_sweep", "_time", "_partition", "_offset")
    together = rows.crossJoin(
        F.broadcast(fences.agg(F.sort_array(F.collect_list(fence)).alias("_fences")))
    )
    key = of_key()
    read = F.when(F.col("_emitted").isNotNull(), major(F.col("_seq")))
    shown = F.when(is_image(), F.col("_scope"))
    table = F.last(shown, ignorenulls=True).over(so_far(by_key()))
    own = together.withColumns({"_of": table, "_reads": F.collect_set(read).over(key)})
    own = own.withColumn("_own", F.filter("_fences", _concerns))
    if shared:
        at = F.collect_set(F.struct(major(F.col("_seq")).alias("major"), "_partition")).over(key)
        own = own.withColumn("_beside", at)
        own = own.withColumn("_own", F.array_sort(F.transform("_own", _placed))).drop("_beside")
    return own.withColumns(
        {
            "_fence": F.get(F.filter("_own", lambda f: f["_seq"] > F.col("_seq")), F.lit(0)),
            "_cut_here": F.exists(
                "_own", lambda f: ~f["_sweep"] & (major(f["_seq"]) == major(F.col("_seq")))
            ),
        }
    ).drop("_fences", "_of", "_reads", "_own")


def _concerns(fence: Column) -> Column:
    """A fence of the row's table that does not spare the key because its snapshot read it."""
    own = servers.concerns(fence["_scope"], F.col("_of"))
    scope = fence["_scope"].isNull() | F.col("_of").isNull() | own
    spared = fence["_sweep"] & F.array_contains("_reads", major(fence["_seq"]))
    return scope & ~spared


def _placed(fence: Column) -> Column:
    """A truncate beside rows of its own position stands by its offset."""
    here = F.struct(major(fence["_seq"]).alias("major"), fence["_partition"].alias("_partition"))
    beside = ~fence["_sweep"] & F.array_contains("_beside", here)
    seq = directly_after(fence["_seq"], fence["_offset"], fence["_partition"])
    return F.struct(
        F.when(beside, seq).otherwise(fence["_seq"]).alias("_seq"),
        *(fence[n].alias(n) for n in ("_scope", "_sweep", "_time", "_partition", "_offset")),
    )


def _is_of(snapshot: Snapshot) -> Column:
    """A read that the snapshot's connector emitted in its time."""
    span = F.col("_emitted").between(snapshot.started, snapshot.completed)
    if snapshot.tables is not None:
        span &= _has(snapshot.tables)
    if snapshot.connector is None:
        return span
    name = F.col("_connector_name")
    return span & (name.isNull() | (name == snapshot.connector))


def _has(tables: Collection[str]) -> Column:
    """The twin of `Snapshot.has`."""
    whole = servers.table(F.col("_scope"))
    schema = _behind_dot(whole)
    named = any_of(n.isin(*sorted(tables)) for n in (whole, schema, _behind_dot(schema)))
    return F.coalesce(named, F.lit(False))


def _behind_dot(name: Column) -> Column:
    return F.regexp_extract(name, r"^[^.]*\.(.*)$", 1)


def sweeps(changes: DataFrame, snapshots: Sequence[Snapshot], run: int) -> DataFrame:
    """The fences of complete snapshots that read rows of this table, as rows of its changes.

    `changes` are all deliveries: one that repeats a read of a snapshot before counts for its own.
    Of two snapshots at one position the first one's fence stays.
    """
    own = F.array_compact(F.array(*(F.when(_is_of(s), n) for n, s in enumerate(snapshots))))
    reads = changes.where(F.col("_emitted").isNotNull())
    earliest = F.struct(major(F.col("_seq")), "_offset", "_partition")
    first = F.min_by(F.struct(*META), earliest).alias("first")
    found = (
        reads.withColumn("_snapshot", F.explode(own))
        .groupBy("_snapshot", servers.known(F.col("_scope")).alias("_of"))
        .agg(first)
        .groupBy(before_phase(F.col("first._seq")).alias("_fence"), "_of")
        .agg(F.min_by("first", "_snapshot").alias("first"))
        .select("first.*")
    )
    nothing = {name: F.lit(None).cast("string") for name in ("_key", "_link", "_connector_name")}
    return found.withColumns(
        {
            **nothing,
            "_op": F.lit(SWEEP),
            "_kind": F.lit("fence"),
            "_seq": before_phase(F.col("_seq")),
            "_emitted": F.lit(None).cast("bigint"),
            "_run": F.lit(run),
        }
    )
