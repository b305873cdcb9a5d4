"""Compares two histories of one table, version by version."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline_spark.changes import quoted

_PLACE = ("_key", "_seq_from")
# When and in which run a version was made is no part of it.
_PASSING = frozenset({*_PLACE, "_recorded_at"})


def counted(old: DataFrame, new: DataFrame) -> dict[str, int]:
    """How many versions are in both and equal, in both and different, only in one.

    A version is known by its key and the position that it begins at.
    """
    names = [name for name in dict.fromkeys((*old.columns, *new.columns)) if name not in _PASSING]
    a, b = _sided(old, names, "a"), _sided(new, names, "b")
    place = [F.col(f"a.{name}") == F.col(f"b.{name}") for name in _PLACE]
    here, there = F.col("a._key").isNotNull(), F.col("b._key").isNotNull()
    same = reduce(lambda x, y: x & y, map(_same, names))
    found = a.join(b, place, "full").agg(
        F.count_if(here & there & same).alias("equal"),
        F.count_if(here & there & ~same).alias("different"),
        F.count_if(~there).alias("only in the old"),
        F.count_if(~here).alias("only in the new"),
    )
    return dict(found.first().asDict())


def _sided(rows: DataFrame, names: list[str], side: str) -> DataFrame:
    own = set(rows.columns)
    cells = ((F.col(quoted(name)) if name in own else F.lit(None)).alias(name) for name in names)
    return rows.select(*_PLACE, *cells).alias(side)


def _same(name: str) -> Column:
    return F.col(f"a.{quoted(name)}").eqNullSafe(F.col(f"b.{quoted(name)}"))
