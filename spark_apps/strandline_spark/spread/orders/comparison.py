"""Compares two histories of one table, version by version."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline_spark.delta import quoted
from strandline_spark.single import single

_PLACE = ("_key", "_seq_from")
_TEXT = "string"
# When a version was recorded is no part of it, nor what only this engine goes on from.
_PASSING = frozenset({*_PLACE, "_recorded_at", "_scope", "_seq_seen"})


def counted(old: DataFrame, new: DataFrame) -> dict[str, int]:
    """How many versions are in both and equal, in both and different, only in one.

    A version is known by its key and the position that it begins at.
    """
    names = [name for name in dict.fromkeys((*old.columns, *new.columns)) if name not in _PASSING]
    a, b = _sided(old, names, "a"), _sided(new, names, "b")
    place = [F.col(f"a.{name}") == F.col(f"b.{name}") for name in _PLACE]
    here, there = F.col("a._key").isNotNull(), F.col("b._key").isNotNull()
    retyped = _retyped(old, new)
    same = reduce(lambda x, y: x & y, (_same(name, text=name in retyped) for name in names))
    found = a.join(b, place, "full").agg(
        F.count_if(here & there & same).alias("equal"),
        F.count_if(here & there & ~same).alias("different"),
        F.count_if(~there).alias("only in the old"),
        F.count_if(~here).alias("only in the new"),
    )
    return dict(single(found).asDict())


def _sided(rows: DataFrame, names: list[str], side: str) -> DataFrame:
    own = set(rows.columns)
    cells = ((F.col(quoted(name)) if name in own else F.lit(None)).alias(name) for name in names)
    return rows.select(*_PLACE, *cells).alias(side)


def _retyped(old: DataFrame, new: DataFrame) -> set[str]:
    """The columns that are texts in one of the two only."""
    a, b = dict(old.dtypes), dict(new.dtypes)
    return {name for name in a.keys() & b.keys() if (a[name] == _TEXT) != (b[name] == _TEXT)}


def _same(name: str, *, text: bool) -> Column:
    """Texts are not read as numbers to compare them: not all of them are such."""
    cells = (F.col(f"{side}.{quoted(name)}") for side in ("a", "b"))
    a, b = (cell.cast(_TEXT) if text else cell for cell in cells)
    return a.eqNullSafe(b)
