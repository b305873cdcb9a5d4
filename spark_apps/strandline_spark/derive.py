"""The chain distinct → link → fold for a set of keys, from the beginning or onto their heads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.changes import lineage
from strandline.changes.change import IMAGES, Op
from strandline.connectors import Connector
from strandline_spark import in_flight, repetition, servers, shift
from strandline_spark.changes import quoted
from strandline_spark.distinct import first_deliveries, numbered
from strandline_spark.fences import fenced
from strandline_spark.fold import Columns, carried, fold
from strandline_spark.heads import Keys
from strandline_spark.link import BASE, is_image, lives, moved, not_stale, unmoved
from strandline_spark.single import single
from strandline_spark.unordered import unordered
from strandline_spark.windows import hashed


@dataclass(frozen=True, slots=True)
class Context:
    """What a derivation needs besides its rows.

    `fences` are the table's truncates and sweeps, None where there are none; `recorded_at` an ISO
    instant; `rules` the connector's habits; `everything` all deliveries of the table;
    `refused` the keys and coordinates of its records in quarantine, None where there are none;
    `in_flight`: whether some of its changes may have been open at a snapshot. `expected`: pairs of
    keys that halves of moves were waited for. `several`: whether the table's changes are of several
    servers, or of several epochs. `keyless`: whether the table's records have no keys.
    """

    run: int
    columns: Columns
    fences: DataFrame | None
    recorded_at: str
    rules: Connector
    everything: DataFrame
    refused: DataFrame | None
    in_flight: bool = False
    expected: Collection[str] = ()
    several: bool = False
    keyless: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """Versions of some keys, and law 6 of the batch's part in them.

    `unseen` holds the keys (`_key, _seq_seen`) that were deleted but never lived: they have no
    version to remember the delete by; None where there can be none. `keys` counts the keys that
    have deliveries. `regress`: where positions go back, in words. `waiting`: halves of moves that
    are alone (`link.Linked`).
    """

    versions: DataFrame
    unseen: DataFrame | None
    keys: int
    distinct: int
    lone_tombstones: int
    waiting: Mapping[str, int]
    regress: str | None
    held: tuple[DataFrame, ...] = ()  # what is kept in memory until `release`

    def beside(self, orderly: "Derived") -> "Derived":
        """Both, where the other is of orderly keys."""
        return replace(
            self,
            versions=self.versions.unionByName(orderly.versions),
            keys=self.keys + orderly.keys,
            distinct=self.distinct + orderly.distinct,
        )

    def release(self) -> None:
        """Frees the rows that were kept for a second pass."""
        for each in self.held:
            each.unpersist()


def derive(
    deliveries: DataFrame, context: Context, *, heads: DataFrame | None = None, moves: bool = False
) -> Derived:
    """The versions that follow from deliveries: of a key that has one of `heads`, onto that.

    `moves`: whether key moves are among them; then every key of a chain has to be.
    """
    first, held = _first(deliveries, context)
    new = F.col("_run") == context.run
    lone = F.col("_op") == Op.TOMBSTONE.value
    place = F.struct(
        F.col("_offset").alias("offset"),
        F.col("_partition").alias("partition"),
        F.col("_position").alias("position"),
    )
    numbers = first.agg(
        F.count_if(new & ~F.col("_repeated")).alias("distinct"),
        F.count_if(new & lone).alias("lone"),
        F.coalesce(F.max(F.size("_unset")), F.lit(0)).alias("unset"),
        F.count_if("_shifts").alias("shifts"),
        F.count_distinct("_key").alias("keys"),
        F.min(F.when(_goes_back(context.rules), place)).alias("regress"),
    )
    seen = single(numbers)
    first = first.where(~F.col("_repeated"))
    rows = _as_rows(first, context)
    if heads is not None:
        rows = rows.unionByName(_as_base(heads, first, context))
    fresh = not_stale(
        fenced(rows, context.fences, context.rules),
        reads_last=context.rules.reads_last,
    )
    unseen = None
    if seen["shifts"]:
        turned = shift.in_turn(fresh, deliveries, full_before=context.rules.full_before)
        fresh, unseen = turned.where(~F.col("_unseen")), turned.where("_unseen")
        fresh = fresh.drop("_unseen")
    regress = None if seen["regress"] is None else lineage.message(**seen["regress"].asDict())
    if context.keyless:
        regress = unordered(first) or regress
    if context.several:
        regress = servers.mixed(rows, fresh) or regress
    living = lives(fresh)
    waiting: Mapping[str, int] = {}
    if moves:
        held.append(living.persist())
        linked = moved(living, unseen, context.expected)
        waiting, rows = linked.waiting, linked.rows
    else:
        rows = unmoved(living)
    return Derived(
        versions=fold(
            rows, context.columns, partial=seen["unset"] > 0, fenced=context.fences is not None
        ),
        unseen=_unseen(living),
        keys=seen["keys"],
        distinct=seen["distinct"],
        lone_tombstones=seen["lone"],
        waiting=waiting,
        regress=regress,
        held=tuple(held),
    )


def _goes_back(rules: Connector) -> Column:
    """Whether a change stands before one that was sent before it; the twin of `lineage.regress`."""
    back = F.col("_goes_back")
    return back | F.col("_outdated") if rules.reads_newest else back


def derive_orderly(
    deliveries: DataFrame, context: Context, keys: Keys, heads: DataFrame | None
) -> Derived:
    """The versions of orderly keys, whose changes are their deliveries and stand alone."""
    changes = deliveries.where(F.col("_op") != Op.TOMBSTONE.value)
    nothing = {"_shifts": F.lit(False), "_outdated": F.lit(False)}
    changes = _carried(hashed(changes), context).withColumns(nothing)
    rows = _as_rows(changes, context)
    if heads is not None:
        rows = rows.unionByName(_as_base(heads, changes, context))
    rows = fenced(rows, None, context.rules)
    if not keys.partial:
        rows = carried(rows, context.columns)
    return Derived(
        versions=fold(unmoved(lives(rows)), context.columns, partial=keys.partial, fenced=False),
        unseen=None,
        keys=keys.orderly,
        distinct=keys.changes,
        lone_tombstones=0,
        waiting={},
        regress=None,
    )


def _first(deliveries: DataFrame, context: Context) -> tuple[DataFrame, list[DataFrame]]:
    """The distinct changes, and what is kept in memory for them."""
    deliveries, refused = hashed(deliveries), context.refused
    if refused is not None:
        refused = hashed(refused.join(deliveries.select("_key"), "_key", "left_semi"))
    if context.in_flight and not deliveries.where("_in_flight").isEmpty():
        deliveries = in_flight.after_reads(deliveries, in_flight.reads(context.everything))
    carried = _carried(deliveries, context)
    counted, held = numbered(carried, refused), []
    if context.rules.shares:
        counted = counted.persist()
        held.append(counted)
        if not counted.where(F.col("_delivery") > 1).isEmpty():
            told = repetition.told_apart(carried, context.everything, shifts=context.rules.shifts)
            counted = numbered(told, refused)
    first = first_deliveries(counted)
    shifted = (
        shift.marked(first) if context.rules.shifts else first.withColumn("_shifts", F.lit(False))
    )
    kept = shifted.drop(*_DELIVERY).persist()
    return kept, [*held, kept]


def _carried(deliveries: DataFrame, context: Context) -> DataFrame:
    """The columns that the stages need: everything else would be sorted and copied along."""
    names = [quoted(name) for name in context.columns.names]
    shows = F.col("_op").isin(*(op.value for op in IMAGES)).alias("_shows")
    of_row = (*_SHARED, "_hash", "_op", "_seq", "_time")
    return deliveries.select(*names, *of_row, shows, *_CHANGES, *_DELIVERY)


# What a base row brings along that a change does not have, and the types of the columns.
_BASE_COLUMNS = {
    "_is_current": "boolean",
    "_seq_seen": "string",
    "_base_op": "string",
    "_base_seq_from": "string",
    "_base_seq_to": "string",
    "_base_valid_to": "timestamp",
    "_base_closed_by": "string",
    "_base_moved_to": "string",
    "_base_entity_id": "string",
    "_base_unavailable": "array<string>",
}
_SHARED = (
    "_key", "_position", "_moved_from", "_tx_id", "_source_ts", "_ts_quality", "_scope",
    "_topic", "_partition", "_offset",
)  # fmt: skip
# What only telling deliveries apart takes.
_DELIVERY = ("_identity", "_ordinal", "_in_flight", "_stored")
# What a change brings along that a base row does not have.
_CHANGE_COLUMNS = {
    "_link": "string",
    "_local": "string",
    "_moved_to": "string",
    "_unset": "array<string>",
    "_unheld": "array<string>",
    "_emitted": "bigint",
    "_topic_id": "string",
}
_CHANGES = (*_CHANGE_COLUMNS, "_run")


def _as_rows(changes: DataFrame, context: Context) -> DataFrame:
    return changes.select(
        *(F.col(quoted(name)) for name in context.columns.names),
        *_SHARED, "_hash", "_op", "_seq", "_shows", "_time", "_shifts", "_outdated",
        *_CHANGE_COLUMNS,
        F.lit(context.recorded_at).cast("timestamp").alias("_recorded_at"),
        *(F.lit(None).cast(kind).alias(name) for name, kind in _BASE_COLUMNS.items()),
    )  # fmt: skip


def _as_base(heads: DataFrame, changes: DataFrame, context: Context) -> DataFrame:
    """The last version of a key as a row to go on from; it stands where the key was seen last."""
    known = set(heads.columns)
    types = {field.name: field.dataType for field in changes.schema}
    cells = {
        name: F.col(quoted(name)) if name in known else F.lit(None)
        for name in context.columns.names
    }
    base: dict[str, Column] = {
        "_op": F.lit(BASE),
        "_seq": F.col("_seq_seen"),
        "_shows": F.lit(False),
        "_time": F.col("_valid_from"),
        "_shifts": F.lit(False),
        "_outdated": F.lit(False),
        **{name: F.lit(None).cast(kind) for name, kind in _CHANGE_COLUMNS.items()},
        "_recorded_at": F.col("_recorded_at"),
        "_is_current": F.col("_is_current"),
        "_seq_seen": F.col("_seq_seen"),
        "_base_op": F.col("_op"),
        "_base_seq_from": F.col("_seq_from"),
        "_base_seq_to": F.col("_seq_to"),
        "_base_valid_to": F.col("_valid_to"),
        "_base_closed_by": F.col("_closed_by"),
        "_base_moved_to": F.col("_moved_to"),
        "_base_entity_id": F.col("_entity_id"),
        "_base_unavailable": F.col("_unavailable"),
    }
    return hashed(heads).select(
        *(cell.cast(types[name]).alias(name) for name, cell in cells.items()),
        *_SHARED,
        "_hash",
        *(column.alias(name) for name, column in base.items()),
    )


def _unseen(living: DataFrame) -> DataFrame:
    version = is_image() | (F.col("_op") == BASE)
    return (
        living.groupBy("_key")
        .agg(F.max(version).alias("lived"), F.max("_seen").alias("_seq_seen"))
        .where(~F.col("lived"))
        .select("_key", "_seq_seen")
    )
