"""Rows under a key that their table has no more, in columns; the twin of `law.doubts.rekeyed`.

Keys are few: what they consist of is metadata, and comes to the driver.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.changes import rekeyed
from strandline.changes.rekeyed import Identity
from strandline_spark import servers
from strandline_spark.distinct import before_phase, is_placed

ASKED = ("_key", "_scope", "_is_current", "_seq_seen")  # of a version
_ROW_OPS = ("c", "u", "r", "d")  # tombstones name no table


def latest(changes: DataFrame) -> dict[Identity, str]:
    """The place of the last change under each key that rows have."""
    return _by_identity(changes.where(F.col("_op").isin(*_ROW_OPS)), F.max(_place("_seq")))


def joined(earlier: Mapping[Identity, str], new: Mapping[Identity, str]) -> dict[Identity, str]:
    """The same of two stretches of changes."""
    both = earlier.keys() | new.keys()
    return {of: max(earlier.get(of, ""), new.get(of, "")) for of in both}


def is_contested(keys: Mapping[Identity, str]) -> bool:
    """Whether one physical table has had several."""
    return len({scope for scope, _ in keys}) < len(keys)


def check(keys: Mapping[Identity, str], versions: DataFrame) -> None:
    """Raises `Terminal` where rows stand under a key whose table went on under another."""
    current = versions.where("_is_current")
    rekeyed.check(keys, _by_identity(current, F.min(_place("_seq_seen"))))


def _by_identity(rows: DataFrame, place: Column) -> dict[Identity, str]:
    columns = F.json_object_keys("_key").alias("columns")
    table = servers.known(F.col("_scope")).alias("table")
    found = rows.groupBy(table, columns).agg(place.alias("place"))
    return {rekeyed.identity(row["table"], row["columns"]): row["place"] for row in found.collect()}


def _place(seq: str) -> Column:
    """The twin of `strandline.rekeyed.place`."""
    own = F.col(seq)
    return F.when(is_placed(own), before_phase(own)).otherwise(own)
