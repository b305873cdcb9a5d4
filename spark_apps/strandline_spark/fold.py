"""Stage fold in columns; the twin of `strandline.law.group.fold`.

Linked rows become versions. A base row stands for the version it was and keeps its own start,
position and entity; whatever follows may close it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from strandline.changes.change import Op
from strandline.changes.version import ClosedBy, TimeQuality
from strandline_spark import values
from strandline_spark.changes import quoted
from strandline_spark.link import BASE, by_key, earlier, is_image, so_far
from strandline_spark.windows import of_key, packed


def _is_base() -> Column:
    return F.col("_op") == BASE


@dataclass(frozen=True, slots=True)
class Columns:
    """The business columns: True for those of JSON; and those whose change makes a version."""

    json: Mapping[str, bool]
    tracked: Sequence[str]

    @property
    def names(self) -> list[str]:
        """All of them in their order."""
        return list(self.json)

    @property
    def ignored(self) -> list[str]:
        """Those whose change makes no version."""
        return [name for name in self.json if name not in self.tracked]

    def compared(self) -> Column:
        """What two images are compared by: JSON documents without regard to white space."""
        every, missing = F.col("_cells"), F.col("_unavailable")
        if self.ignored:
            own = F.array(*(F.lit(name) for name in self.tracked)).cast("array<string>")
            missing = F.array_intersect(missing, own)
        if self.ignored or any(self.json.values()):
            cells = (self._compared(name).alias(f"c{n}") for n, name in enumerate(self.tracked))
            every = F.struct(*cells)
        return F.struct(every.alias("cells"), missing.alias("missing"))

    def _compared(self, name: str) -> Column:
        cell = F.col("_cells").getField(name)
        return values.comparable_json(cell) if self.json[name] else cell


# What a version has from its row, and no window looks at.
_CARRIED = (
    "_position", "_moved_from", "_tx_id", "_source_ts", "_ts_quality", "_topic", "_partition",
    "_offset", "_recorded_at", "_base_op", "_base_seq_from", "_base_seq_to", "_base_closed_by",
    "_base_moved_to",
)  # fmt: skip


def carried(rows: DataFrame, columns: Columns) -> DataFrame:
    """Rows with their cells as one value, `_cells`, and with `_carried`."""
    return packed(packed(rows, "_carried", _CARRIED), "_cells", columns.names)


def fold(linked: DataFrame, columns: Columns, *, partial: bool, fenced: bool) -> DataFrame:
    """The versions of the keys, with `_hash`, `_is_head` and, on the heads, `_seq_seen`.

    `partial`: whether any image lacks columns; if not, nothing has to be filled, and the rows may
    be `carried`. `fenced`: whether the table has fences.
    """
    rows = linked.where(is_image() | F.col("_ends") | _is_base())
    images = _filled(rows, columns.names) if partial else _sent(rows)
    images = images.where("_own").drop("_own", "_line")
    if "_cells" not in images.columns:
        images = carried(images, columns)
    return _versions(_boundaries(images, columns, fenced=fenced), columns.names)


def _sent(rows: DataFrame) -> DataFrame:
    none = F.array().cast("array<string>")
    own = F.coalesce("_base_unavailable", "_unheld", none)
    return rows.withColumn("_unavailable", own)


def _filled(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """A column that was not sent keeps the last known value of the row, also across key moves."""
    chain = so_far(Window.partitionBy("_line").orderBy("_depth", "_seq"))
    missing = F.coalesce("_base_unavailable", "_unset")
    filled = {}
    for name in columns:
        known = (is_image() | _is_base()) & ~F.array_contains(missing, name)
        unheld = F.coalesce(F.array_contains("_unheld", name), F.lit(False))
        cell = F.struct(F.col(quoted(name)).alias("value"), unheld.alias("unheld"))
        value = F.when(known, cell)
        filled[name] = F.last(value, ignorenulls=True).over(chain)
    unavailable = F.array(
        *(F.when(cell.isNull() | cell["unheld"], F.lit(name)) for name, cell in filled.items())
    )
    others = [name for name in rows.columns if name not in columns]
    return rows.select(
        *(cell["value"].alias(name) for name, cell in filled.items()),
        *others,
        F.array_compact(unavailable).cast("array<string>").alias("_unavailable"),
    )


def _boundaries(rows: DataFrame, columns: Columns, *, fenced: bool) -> DataFrame:
    """The rows at which something changes: new values, and ends.

    A change of ignored columns alone overwrites them in the version that stands.
    """
    image = columns.compared()
    # The rows of a life follow each other, so the order of the key's rows is theirs too.
    before = F.lag(F.struct(F.col("_life").alias("life"), image.alias("image"))).over(by_key())
    alike = before["life"].eqNullSafe(F.col("_life")) & before["image"].eqNullSafe(image)
    same = before.isNotNull() & alike & ~F.col("_opens") & is_image()
    marked = rows.withColumn("_same", same & ~_is_base())
    if columns.ignored:
        marked = _overwritten(marked, columns)
    kept = (_fenced(marked) if fenced else marked).where(~F.col("_same")).drop("_same")
    if not fenced:
        return kept
    passed = F.coalesce(F.lead("_passed").over(by_key()), F.col("_final"))
    return kept.withColumn("_fence", passed["fence"]).drop("_passed", "_final")


def _fenced(rows: DataFrame) -> DataFrame:
    """Adds `_passed` and `_final`: the fence after the row before, and after the key's last row.

    A version ends at the fence after its last row, which another table may have shown.
    """
    fence = F.struct(F.col("_fence").alias("fence"))
    whole = by_key().rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    return rows.withColumns(
        {"_passed": F.lag(fence).over(by_key()), "_final": F.last(fence).over(whole)}
    )


def _overwritten(rows: DataFrame, columns: Columns) -> DataFrame:
    """The version's first row gets what its last one has of the ignored columns."""
    life = of_key("_life")
    number = F.count_if(~F.col("_same") & is_image()).over(so_far(life.orderBy("_seq")))
    version = of_key("_life", "_standing").orderBy("_seq")
    whole = version.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    told = F.when(is_image(), F.struct("_cells", "_unavailable"))
    latest = F.col("_latest")
    cells = (
        (latest["_cells"] if name in columns.ignored else F.col("_cells"))
        .getField(name)
        .alias(name)
        for name in columns.names
    )
    replaced = {"_cells": F.struct(*cells), "_unavailable": latest["_unavailable"]}
    return (
        rows.withColumn("_standing", number)
        .withColumn("_latest", F.last(told, ignorenulls=True).over(whole))
        .withColumns(
            {
                name: F.when(is_image(), value).otherwise(F.col(name))
                for name, value in replaced.items()
            }
        )
        .drop("_standing", "_latest")
    )


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
        .withColumns({"_reached": reached, "_last": F.col("_seq") == F.max(version).over(of_key())})
        .withColumn("_next", F.lead(_next_boundary()).over(by_key()))
    )
    versions = timed.where(is_image() | _is_base()).select("*", "_cells.*", "_carried.*")
    return versions.select(*(F.col(quoted(name)) for name in columns), *_meta())


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
        F.when(follower["ends"] & follower["moved_to"].isNotNull(), ClosedBy.KEY_MOVE.value)
        .when(follower["op"] == Op.TOMBSTONE.value, ClosedBy.TOMBSTONE.value)
        .when(follower["op"] == Op.ABSENT.value, ClosedBy.SNAPSHOT_ABSENT.value)
        .when(follower["ends"], ClosedBy.DELETE.value)
        .when(follower["op"] == Op.READ.value, ClosedBy.SNAPSHOT_CORRECTION.value)
        .otherwise(ClosedBy.UPDATE.value)
    )
    fenced_by = F.when(F.col("_fence._sweep"), ClosedBy.SNAPSHOT_ABSENT.value).otherwise(
        ClosedBy.TRUNCATE.value
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
        "_closed_by": _closing(live, fenced_by, closed_by, F.col("_base_closed_by")),
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
        "_scope": F.col("_scope"),
        "_is_head": F.col("_last"),
        "_seq_seen": F.when(F.col("_last"), F.col("_seen")),
        "_hash": F.col("_hash"),
    }
    return [column.alias(name) for name, column in columns.items()]
