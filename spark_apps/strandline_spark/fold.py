"""Stage fold in columns; the twin of `strandline.interpreter.fold`.

Linked rows become versions. A base row stands for the version it was and keeps its own start,
position and entity; whatever follows may close it.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.change import Op
from strandline.version import ClosedBy, TimeQuality
from strandline_spark.link import BASE, by_key, earlier, is_image, so_far


def _is_base() -> Column:
    return F.col("_op") == BASE


def fold(linked: DataFrame, columns: Sequence[str], *, partial: bool) -> DataFrame:
    """The versions of the keys, with `_is_head` and, on the heads, `_seq_seen`.

    `partial`: whether any image lacks columns; if not, nothing has to be filled.
    """
    rows = linked.where(is_image() | F.col("_ends") | _is_base())
    images = _filled(rows, columns) if partial else _sent(rows)
    return _versions(_boundaries(images, columns), columns)


def _sent(rows: DataFrame) -> DataFrame:
    none = F.array().cast("array<string>")
    return rows.withColumn("_unavailable", F.coalesce("_base_unavailable", none))


def _filled(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """A column that was not sent keeps the last known value of the row, also across key moves."""
    chain = so_far(Window.partitionBy("_root_key", "_root_life").orderBy("_depth", "_seq"))
    missing = F.coalesce("_base_unavailable", "_unset")
    filled = {}
    for name in columns:
        known = (is_image() | _is_base()) & ~F.array_contains(missing, name)
        value = F.when(known, F.struct(F.col(_quoted(name)).alias("value")))
        filled[name] = F.last(value, ignorenulls=True).over(chain)
    unavailable = F.filter(
        F.array(*(F.when(cell.isNull(), F.lit(name)) for name, cell in filled.items())),
        lambda name: name.isNotNull(),
    )
    others = [name for name in rows.columns if name not in columns]
    return rows.select(
        *(cell["value"].alias(name) for name, cell in filled.items()),
        *others,
        unavailable.alias("_unavailable"),
    )


def _boundaries(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows at which something changes: new values, and ends."""
    image = F.struct(*(F.col(_quoted(name)) for name in columns), "_unavailable")
    life = Window.partitionBy("_key", "_life").orderBy("_seq")
    same = F.lag(image).over(life).eqNullSafe(image) & ~F.col("_opens") & is_image()
    return rows.withColumn("_same", same & ~_is_base()).where(~F.col("_same")).drop("_same")


def _versions(boundaries: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Each boundary that is an image, closed by what follows it, a truncate or another boundary."""
    cut = F.col("_fence")
    next_seq = F.lead("_seq").over(by_key())
    truncated = cut.isNotNull() & (next_seq.isNull() | (cut["_seq"] < next_seq))
    ended = F.col("_truncated") & is_image()
    reached = F.greatest(
        F.max("_time").over(so_far(by_key())),
        F.max("_base_valid_to").over(so_far(by_key())),
        F.max(F.when(ended, cut["_time"])).over(earlier(by_key())),
    )
    version = F.when(is_image() | _is_base(), F.col("_seq"))
    timed = (
        boundaries.withColumn("_truncated", truncated)
        .withColumn("_reached", reached)
        .withColumn("_next", F.lead(_next_boundary()).over(by_key()))
        .withColumn("_last", F.col("_seq") == F.max(version).over(Window.partitionBy("_key")))
    )
    return timed.where(is_image() | _is_base()).select(
        *(F.col(_quoted(name)) for name in columns),
        *_meta(),
    )


def _next_boundary() -> Column:
    return F.struct(
        F.col("_seq").alias("seq"),
        F.col("_op").alias("op"),
        F.col("_opens").alias("opens"),
        F.col("_ends").alias("ends"),
        F.col("_reached").alias("time"),
        F.col("_moved_to").alias("moved_to"),
    )


def _closing(live: Column, truncate: Column, otherwise: Column, base: Column) -> Column:
    """What closes a version: a truncate, the next boundary, or what closed its base already."""
    closed_base = _is_base() & ~F.col("_is_current")
    return (
        F.when(closed_base, base)
        .when(live & F.col("_truncated"), truncate)
        .when(live & F.col("_next").isNotNull(), otherwise)
    )


def _meta() -> list[Column]:
    live = is_image()
    follower = F.col("_next")
    closed_by = (
        F.when(follower["op"] == Op.TOMBSTONE.value, ClosedBy.TOMBSTONE.value)
        .when(follower["ends"] & follower["moved_to"].isNotNull(), ClosedBy.KEY_MOVE.value)
        .when(follower["ends"], ClosedBy.DELETE.value)
        .when(follower["op"] == Op.READ.value, ClosedBy.SNAPSHOT_CORRECTION.value)
        .otherwise(ClosedBy.UPDATE.value)
    )
    start = F.when(_is_base(), F.col("_time")).otherwise(F.col("_reached"))
    cut_time = F.greatest(start, F.col("_fence._time"))
    seq_from = F.when(_is_base(), F.col("_base_seq_from")).otherwise(F.col("_seq"))
    seq_to = _closing(live, F.col("_fence._seq"), follower["seq"], F.col("_base_seq_to"))
    entity = F.sha2(F.concat("_root_key", F.lit("@"), "_root_life"), 256).substr(1, 32)
    clamped = F.col("_reached") > F.col("_time")
    quality = F.when(clamped, TimeQuality.CLAMPED.value).otherwise(F.col("_ts_quality"))
    moved_to = _closing(
        live,
        F.lit(None).cast("string"),
        F.when(follower["ends"], follower["moved_to"]),
        F.col("_base_moved_to"),
    )
    columns = {
        "_valid_from": start,
        "_valid_to": _closing(live, cut_time, follower["time"], F.col("_base_valid_to")),
        "_is_current": seq_to.isNull(),
        "_seq_from": seq_from,
        "_seq_to": seq_to,
        "_position": F.col("_position"),
        "_op": F.when(_is_base(), F.col("_base_op")).otherwise(F.col("_op")),
        "_closed_by": _closing(
            live, F.lit(ClosedBy.TRUNCATE.value), closed_by, F.col("_base_closed_by")
        ),
        "_moved_from": F.col("_moved_from"),
        "_moved_to": moved_to,
        "_entity_id": F.coalesce("_base_entity_id", "_entity_from", entity),
        "_tx_id": F.col("_tx_id"),
        "_source_ts": F.col("_source_ts"),
        "_ts_quality": F.when(_is_base(), F.col("_ts_quality")).otherwise(quality),
        "_unavailable": F.col("_unavailable"),
        "_topic": F.col("_topic"),
        "_partition": F.col("_partition"),
        "_offset": F.col("_offset"),
        "_recorded_at": F.col("_recorded_at"),
        "_key": F.col("_key"),
        "_is_head": F.col("_last"),
        "_seq_seen": F.when(F.col("_last"), F.col("_seen")),
    }
    return [column.alias(name) for name, column in columns.items()]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
