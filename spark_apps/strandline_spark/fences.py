"""Fences in columns: truncates, and the sweeps of complete snapshots (`law.group.sweep`)."""

from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.connectors import Connector
from strandline.formats.notification import Snapshot
from strandline_spark import servers
from strandline_spark.changes import META
from strandline_spark.distinct import before_phase, directly_after, major, next_to
from strandline_spark.link import by_key, is_image, so_far
from strandline_spark.shallow import any_of
from strandline_spark.windows import of_key

SWEEP = "sweep"
_FENCE = (
    "struct<_seq: string, _local: string, _scope: string, _sweep: boolean, _time: timestamp, "
    "_partition: int, _offset: bigint>"
)
_REST = ("_local", "_scope", "_sweep", "_time", "_partition", "_offset")


def fenced(rows: DataFrame, fences: DataFrame | None, rules: Connector) -> DataFrame:
    """Adds `_fence`, the first fence after each row that concerns its table, and `_cut_here`.

    A key may come back in another table of its topic: where its last image came from, there it is.
    There are few fences: they travel as one array. `_cut_here` says that a truncate stands at the
    row's own position. Where rows of other transactions may have that position, the offset tells in
    its own partition (docs/facts/questions.md, A11). `rules` are the connector's habits.
    """
    if fences is None:
        nothing = F.lit(None).cast(_FENCE)
        return rows.withColumns({"_fence": nothing, "_cut_here": F.lit(False)})
    together = _with_fences(rows, fences, rules)
    key = of_key()
    read = F.when(F.col("_emitted").isNotNull(), major(F.col("_seq")))
    shown = F.when(is_image(), F.col("_scope"))
    table = F.last(shown, ignorenulls=True).over(so_far(by_key()))
    own = together.withColumns({"_of": table, "_reads": F.collect_set(read).over(key)})
    own = own.withColumn("_own", F.filter("_fences", _concerns))
    if rules.shares_fences:
        at = F.collect_set(F.struct(major(F.col("_seq")).alias("major"), "_partition")).over(key)
        own = own.withColumn("_beside", at)
        own = own.withColumn("_own", F.array_sort(F.transform("_own", _placed))).drop("_beside")
    return own.withColumns(
        {
            "_fence": F.get(F.filter("_own", lambda f: f["_seq"] > F.col("_seq")), F.lit(0)),
            "_cut_here": F.exists(
                "_own",
                lambda f: (
                    ~f["_sweep"] & f["_local"].isNull() & (major(f["_seq"]) == major(F.col("_seq")))
                ),
            ),
        }
    ).drop("_fences", "_of", "_reads", "_own")


def _with_fences(rows: DataFrame, fences: DataFrame, rules: Connector) -> DataFrame:
    """Adds `_fences`, in order: those at the row's own position and behind it.

    Rows that were sent after the last of hundreds carry none. Some have a place for each key.
    """
    here = _behind(fences) if rules.shards else None
    fence = F.struct("_seq", *_REST)
    placed = fences.where(F.col("_local").isNull())
    every = placed.agg(F.sort_array(F.collect_list(fence)).alias("_fences"))
    ahead = F.filter("_fences", lambda f: major(f["_seq"]) >= major(F.col("_seq")))
    together = rows.crossJoin(F.broadcast(every)).withColumn("_fences", ahead)
    if here is None:
        return together
    located = together.join(_located(rows, here), "_key", "left")
    own = F.coalesce("_located", F.array().cast(f"array<{_FENCE}>"))
    both = F.sort_array(F.concat("_fences", own))
    return located.withColumn("_fences", both).drop("_located")


def local(fences: DataFrame) -> DataFrame | None:
    """The truncates that only the log of their shard orders; None where there are none."""
    found = fences.where(F.col("_local").isNotNull())
    return None if found.isEmpty() else found


def _behind(fences: DataFrame) -> DataFrame | None:
    """Local truncates as those of the whole table, behind the sweeps that Kafka has before them."""
    found = local(fences)
    if found is None:
        return None
    shard = F.length(_shard(F.col("_local"))) + 1
    scope = F.col("_scope").substr(F.lit(1), F.length("_scope") - shard)
    swept = fences.where("_sweep").select(
        F.col("_seq").alias("_latest"),
        F.col("_scope").alias("_of"),
        F.col("_stored").alias("_since"),
    )
    known = F.col("_scope").isNull() | F.col("_of").isNull()
    after = known | servers.concerns(F.col("_scope"), F.col("_of"))
    after &= F.col("_since") <= F.col("_stored")
    return (
        found.withColumn("_scope", scope)
        .join(F.broadcast(swept), after, "left")
        .groupBy("_seq", *_REST)
        .agg(F.max("_latest").alias("_latest"))
        .withColumn("_seq", F.greatest("_seq", "_latest"))
    )


def precedes(row: Column, fence: Column) -> Column:
    """Whether a row lies before a truncate in the log of one shard; both are `place@shard`."""
    return (_shard(row) == _shard(fence)) & (row < fence)


def _shard(place: Column) -> Column:
    return F.substring_index(place, "@", -1)


def _located(rows: DataFrame, fences: DataFrame) -> DataFrame:
    """`_key, _located`: each truncate behind the key's last row that its shard has before it.

    Where there is no such row, it is of other rows.
    """
    told = F.broadcast(fences.select(F.col("_seq").alias("_since"), *_REST))
    own = rows.select("_key", "_seq", F.col("_local").alias("_place"))
    return (
        own.join(told, precedes(F.col("_place"), F.col("_local")))
        .groupBy("_key", "_since", *_REST)
        .agg(next_to(F.greatest(F.max("_seq"), "_since")).alias("_seq"))
        .groupBy("_key")
        .agg(F.collect_list(F.struct("_seq", *_REST)).alias("_located"))
    )


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
        *(fence[name].alias(name) for name in _REST),
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
    empty = ("_key", "_link", "_local", "_connector_name")
    nothing = {name: F.lit(None).cast("string") for name in empty}
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
