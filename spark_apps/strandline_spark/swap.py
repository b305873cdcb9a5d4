"""Puts other content into a table's stores, under the same names; readers see the old or the new.

The history comes last, in one commit that is fenced by the run: whoever repeats a swap half done
does the rest of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from strandline.runs.lake import SourceLake
from strandline_spark import apply, changes, delta

_SIDE = ("deleted_keys", "moves")


@dataclass(frozen=True, slots=True)
class Stores:
    """What a table consists of; `deleted_keys` and `moves` only where it has any."""

    history: DataFrame
    changes: DataFrame
    deleted_keys: DataFrame | None
    moves: DataFrame | None

    @staticmethod
    def of(spark: SparkSession, lake: SourceLake, table: str) -> "Stores":
        """The stores in a lake, as they are now."""
        paths = _paths(lake, table).items()
        now = {name: delta.version(spark, path) for name, path in paths}
        return Stores.at(spark, lake, table, now)

    @staticmethod
    def at(
        spark: SparkSession, lake: SourceLake, table: str, versions: Mapping[str, int]
    ) -> "Stores":
        """The stores in a lake, as they were at these versions."""
        found = {
            name: delta.read(spark, path, versions[name])
            for name, path in _paths(lake, table).items()
            if name not in _SIDE or versions[name] >= 0
        }
        return Stores(
            found["history"], found["changes"], found.get("deleted_keys"), found.get("moves")
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """What the commits of a swap carry: their transaction and, with the history, a run's `note`.

    A swap is done once for each run and `application`, however often it is tried.
    """

    run: int
    note: str
    application: str = delta.APPLICATION


def stores(new: Stores, lake: SourceLake, table: str, mark: Mark) -> None:
    """Replaces the stores of a table."""
    spark, paths = new.history.sparkSession, _paths(lake, table)
    for name in ("changes", *_SIDE):
        rows = getattr(new, name)
        if rows is not None:
            partitions = (changes.PARTITION,) if name == "changes" else ()
            _overwrite(rows, paths[name], mark, partitions)
        elif delta.exists(spark, paths[name]):
            DeltaTable.forPath(spark, paths[name]).delete()
    with delta.fenced(spark, mark.run, mark.note, mark.application):
        _overwrite(new.history, paths["history"], mark, (apply.PARTITION,))


def is_half_done(spark: SparkSession, lake: SourceLake, table: str, run: int) -> bool:
    """Whether the run has replaced the changes, which come first, and not the history."""
    changed = delta.applied(spark, lake.changes(table))
    return changed >= run > delta.applied(spark, lake.history(table))


def quarantine(spark: SparkSession, path: str, table: str, rows: DataFrame, run: int) -> None:
    """Replaces a table's part of the quarantine."""
    delta.append(rows.withColumn("run", F.lit(run)), path, run, f"{delta.APPLICATION}/{table}")
    old = (F.col("table") == table) & (F.col("run") != run)
    DeltaTable.forPath(spark, path).delete(old)


def _overwrite(rows: DataFrame, path: str, mark: Mark, partitions: tuple[str, ...]) -> None:
    (
        rows.write.format("delta")
        .mode("overwrite")
        .option("overwriteSchema", "true")
        .option("txnAppId", mark.application)
        .option("txnVersion", str(mark.run))
        .partitionBy(*partitions)
        .save(path)
    )


def _paths(lake: SourceLake, table: str) -> dict[str, str]:
    return {
        "history": lake.history(table),
        "changes": lake.changes(table),
        "deleted_keys": lake.deleted_keys(table),
        "moves": lake.moves(table),
    }
