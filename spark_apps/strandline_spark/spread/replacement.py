"""What a run changes in a history: versions that come, and the places of those that go.

What stands is asked of the table itself. A version is known by its key and the position at which it
begins; when it was recorded is no part of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import reduce
from operator import and_

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline.changes.columns import (
    IS_CURRENT,
    IS_HEAD,
    KEY,
    RECORDED_AT,
    SCOPE,
    SEQ_FROM,
    SEQ_SEEN,
    VALID_TO,
)
from strandline_spark import delta
from strandline_spark.checkpoint import kept
from strandline_spark.delta import quoted
from strandline_spark.shallow import LISTED, joined
from strandline_spark.spread.groups import Touched

_PASSING = frozenset({RECORDED_AT, SCOPE, SEQ_SEEN})
_VECTORS = "delta.enableDeletionVectors"
_PROPERTIES = {_VECTORS: "true"}
GONE = "_gone"
_STOOD = "_standing"


@dataclass(frozen=True, slots=True)
class Replacement:
    """`rows` are those that come (`GONE` False) and those that go, which are only their places.

    `made` and `open` are the versions that the run has made, `stood` and `stood_open` those of the
    same keys that it has found; `come` and `gone` those of them that are not the same. A version
    that is the same may go for one beside which the key has seen more: `going` are all, `alone` of
    them in whose place none comes, `heads` the last ones of their keys.
    """

    rows: DataFrame
    come: int
    gone: int
    made: int
    open: int
    stood: int
    stood_open: int
    going: int
    alone: int
    heads: int

    def __add__(self, other: "Replacement") -> "Replacement":
        """Both, which are of other keys."""
        rows = self.rows.unionByName(other.rows, allowMissingColumns=True)
        sums = {
            of.name: getattr(self, of.name) + getattr(other, of.name)
            for of in fields(Replacement)
            if of.name != "rows"
        }
        return Replacement(rows, **sums)


def remembered(versions: DataFrame, forgotten: str | None) -> DataFrame:
    """Versions without those that ended before retention's moment; the last of a key stays."""
    if forgotten is None:
        return versions
    moment = F.lit(forgotten).cast("timestamp")
    ended = ~F.col(IS_HEAD) & (F.col(VALID_TO) < moment)
    return versions.where(~F.coalesce(ended, F.lit(False)))


def compared(versions: DataFrame, history: DataFrame | None, keys: Touched | None) -> Replacement:
    """How versions differ from what the history has of the same keys; None: of all."""
    if history is None:
        history = versions.limit(0)
    both = _beside(versions, history if keys is None else keys.of(history, KEY))
    changed, found = _observed(both, *_sizes(), where=F.col("_changed"))
    come = changed.where("_new").select(*_named(versions), F.lit(False).alias(GONE))
    places = [_stood(name).alias(name) for name in (KEY, SEQ_FROM)]
    gone = changed.where("_old").select(*places, F.lit(True).alias(GONE))
    return Replacement(come.unionByName(gone, allowMissingColumns=True), **found)


def of_all(versions: DataFrame, history: DataFrame) -> Replacement:
    """All versions, in place of the history: those that stood keep when they were recorded."""
    both, found = _observed(_beside(versions, history), *_sizes())
    recorded = F.when(F.col("_same"), _stood(RECORDED_AT)).otherwise(F.col(RECORDED_AT))
    come = both.where("_new").withColumn(RECORDED_AT, recorded)
    return Replacement(come.select(*_named(versions), F.lit(False).alias(GONE)), **found)


def _sizes() -> list[Column]:
    """The numbers of `Replacement`."""
    new, old, same = F.col("_new"), F.col("_old"), F.col("_same")
    going = old & F.col("_changed")
    return [
        F.count_if(new & ~same).alias("come"),
        F.count_if(old & ~same).alias("gone"),
        F.count_if(new).alias("made"),
        F.count_if(new & F.col(IS_CURRENT)).alias("open"),
        F.count_if(old).alias("stood"),
        F.count_if(old & _stood(IS_CURRENT)).alias("stood_open"),
        F.count_if(going).alias("going"),
        F.count_if(old & ~new).alias("alone"),
        F.count_if(going & _stood(IS_HEAD)).alias("heads"),
    ]


def _named(rows: DataFrame) -> list[Column]:
    return [F.col(quoted(name)) for name in rows.columns]


def _beside(versions: DataFrame, standing: DataFrame) -> DataFrame:
    """Versions, each beside what stands in its place.

    `_new`, `_old`: whether it is on either side; `_same`: whether both say the same; `_changed`:
    whether it is to be written.
    """
    stood = standing.select(F.struct("*").alias(_STOOD))
    place = [F.col(name) == _stood(name) for name in (KEY, SEQ_FROM)]
    both = versions.join(stood, reduce(Column.__and__, place), "full_outer")
    new, old = F.col(KEY).isNotNull(), _stood(KEY).isNotNull()
    same = new & old & _alike(versions.schema, standing.columns)
    seen = F.col(SEQ_SEEN).eqNullSafe(_stood(SEQ_SEEN))
    flags = {"_new": new, "_old": old, "_same": same, "_changed": ~(same & seen)}
    return both.select("*", *(of.alias(name) for name, of in flags.items()))


def _stood(name: str) -> Column:
    """A cell of what stands in a version's place."""
    return F.col(_STOOD).getField(name)


def _alike(schema: StructType, known: Iterable[str]) -> Column:
    """Whether a version is the one that stands; a column that is not there yet is NULL."""
    there = set(known)
    columns = [(of.name, of.dataType) for of in schema if of.name not in _PASSING]
    cells = (
        F.col(quoted(name)).eqNullSafe(_stood(name).try_cast(of))
        if name in there
        else F.col(quoted(name)).isNull()
        for name, of in columns
    )
    return joined(and_, cells)


def _observed(
    rows: DataFrame, *sizes: Column, where: Column | None = None
) -> tuple[DataFrame, dict[str, int]]:
    """The rows, or some of them, kept; and what the same pass counts of all."""
    seen = Observation("rows")
    observed = rows.observe(seen, *sizes)
    found = kept(observed if where is None else observed.where(where))
    return found, dict(seen.get)


def fits(versions: DataFrame, history: DataFrame) -> bool:
    """Whether the history has the versions' columns in their types, but for such as it lacks."""
    stored = {field.name: field.dataType for field in history.schema}
    made = {field.name: field.dataType for field in versions.schema}
    return stored.keys() <= made.keys() and all(made[name] == of for name, of in stored.items())


def commit(change: Replacement, path: str, *, anew: bool) -> None:
    """One commit of the change, if only of the run's mark; `anew`: in place of the whole table.

    Columns that the table lacks are added by a commit of their own before: see `admit`.
    """
    spark = change.rows.sparkSession
    come = change.rows.where(f"NOT {GONE}").drop(GONE)
    writer = come.write.format("delta").partitionBy(IS_HEAD)
    features = {**_PROPERTIES, **delta.naming_features(come.columns)}
    if anew or not delta.exists(spark, path):
        mode = "overwrite" if anew else "append"
        writer.mode(mode).option("overwriteSchema", str(anew).lower()).options(**features).save(
            path
        )
    elif not change.going:
        come.write.format("delta").mode("append").save(path)
    elif not change.alone:
        reach = [f"_standing.{IS_HEAD} = true"] if change.heads == change.going else []
        if change.going <= LISTED:
            reach.append(_among(change.rows.where(GONE)))
        _replace(come, path, reach)
    else:
        _merge(change.rows, come.columns, path)


def _replace(come: DataFrame, path: str, reach: Iterable[str]) -> None:
    """Where every version that goes has one in its place: one pass over the keys within reach."""
    same = (f"_standing.{name} = _new.{name}" for name in (KEY, SEQ_FROM))
    writer = come.alias("_new").write.format("delta").mode("overwrite")
    writer.options(replaceOn=" AND ".join([*reach, *same]), targetAlias="_standing").save(path)


def _among(places: DataFrame) -> str:
    """That a version is of a key of one of these, at most `LISTED`; no key is read as SQL."""
    keys = sorted({row[KEY].encode().hex() for row in places.select(KEY).collect()})
    listed = ", ".join(f"CAST(X'{key}' AS STRING)" for key in keys)
    return f"_standing.{KEY} IN ({listed})"


def _merge(rows: DataFrame, columns: Iterable[str], path: str) -> None:
    places = F.col(f"t.{KEY}") == F.col(f"s.{KEY}")
    places &= F.col(f"t.{SEQ_FROM}") == F.col(f"s.{SEQ_FROM}")
    (
        DeltaTable.forPath(rows.sparkSession, path)
        .alias("t")
        .merge(rows.alias("s"), places & F.col(f"s.{GONE}"))
        .whenMatchedDelete()
        .whenNotMatchedInsert(
            ~F.col(f"s.{GONE}"), {quoted(name): f"s.{quoted(name)}" for name in columns}
        )
        .execute()
    )


def admit(change: Replacement, path: str, *, anew: bool) -> None:
    """Lets the table take the rows as one of Spark's own does; also columns that it lacks.

    That is a commit of its own, so that the run's is one.
    """
    versions = change.rows.drop(GONE)
    spark = versions.sparkSession
    delta.evolve(versions, path)
    known = set(delta.read(spark, path).columns)
    if not anew and not known.issuperset(versions.columns):
        empty = versions.limit(0).write.format("delta").mode("append")
        empty.option("mergeSchema", "true").save(path)
    if delta.properties(spark, path).get(_VECTORS) != "true":
        delta.set_properties(spark, path, _PROPERTIES)
