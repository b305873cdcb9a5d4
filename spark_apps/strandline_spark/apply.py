"""Stage apply: the versions of the touched keys go into the history in one fenced Delta commit.

The table is partitioned by `_is_head` (the last version of each key), so replacing heads never
reads closed versions; deletion vectors keep the write as small as the change.
"""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline_spark import delta, settings
from strandline_spark.changes import quoted
from strandline_spark.heads import Touched

PARTITION = "_is_head"
_PROPERTIES = {"delta.enableDeletionVectors": "true"}


def prepare(rows: DataFrame, path: str) -> None:
    """Lets a history that was made without Spark take the rows, as one of Spark's own would."""
    delta.evolve(rows, path)
    delta.set_properties(rows.sparkSession, path, _PROPERTIES)


def widen(versions: DataFrame, path: str) -> None:
    """Adds the columns that the history lacks, if there is one."""
    spark = versions.sparkSession
    if not delta.exists(spark, path):
        return
    delta.evolve(versions, path)
    known = {field.name: field.dataType for field in delta.read(spark, path).schema}
    if any(known.get(field.name) != field.dataType for field in versions.schema):
        versions.limit(0).write.format("delta").mode("append").option("mergeSchema", "true").save(
            path
        )


def append(versions: DataFrame, path: str) -> None:
    """All keys are new: nothing has to be found or replaced. The first one makes the table."""
    writer = versions.write.format("delta").mode("append").partitionBy(PARTITION)
    writer.options(**_PROPERTIES, **delta.naming_features(versions.columns)).save(path)


def replace(versions: DataFrame, keys: Touched, path: str) -> None:
    """Replaces what the history has of `keys` by `versions`, in one commit.

    Of a key that is appended to only the head is replaced, of a re-derived one every version. Where
    no version is taken away but for one of its key that begins there or before it, that is one pass
    over the keys of the history (`replaceOn`), which a merge reads three times.
    """
    if not keys.count:
        append(versions, path)  # nothing, but the run's mark
    elif keys.former is None:
        # Every key has its old head among its versions, closed or as it was. So closed versions are
        # in a partition that is not looked at.
        _replace(versions, path, f"_standing.{PARTITION} = true")
    else:
        _replace_rederived(versions, keys, keys.former, path)


def _replace_rederived(versions: DataFrame, keys: Touched, former: DataFrame, path: str) -> None:
    """Replaces heads, and of re-derived keys all versions that they had, the `former` ones."""
    # All versions are looked through, however few changes came: sorted, unless Spark finds out by
    # itself that the others are few.
    with settings.during(versions.sparkSession, {settings.ADAPTIVE: None}):
        if _covered(former, versions):
            # Nothing of a key begins behind its head, so of one that is appended to only that goes.
            _replace(versions, path, "_new._seq_from <= _standing._seq_from")
        else:
            _merge(versions, keys, path)


def _replace(versions: DataFrame, path: str, reach: str) -> None:
    """Replaces what is of a version's key and within reach; no column has an alias's name."""
    writer = versions.alias("_new").write.format("delta").mode("overwrite")
    same = f"{reach} AND _standing._key = _new._key"
    writer.options(replaceOn=same, targetAlias="_standing").save(path)


def _covered(former: DataFrame, versions: DataFrame) -> bool:
    """Whether each key's first version of before stands where there is one now, or behind it."""
    first = former.groupBy("_key").agg(F.min("_seq_from").alias("_first")).alias("f")
    new = versions.select("_key", "_seq_from").alias("n")
    reached = (F.col("f._key") == F.col("n._key")) & (F.col("n._seq_from") <= F.col("f._first"))
    return first.join(new, reached, "left_anti").isEmpty()


def _merge(versions: DataFrame, keys: Touched, path: str) -> None:
    """The same for keys of which a version goes that none replaces: the row never was."""
    gone = keys.rows.select(F.col("_key").alias("_match"), F.col("_rederive").alias("_whole"))
    fresh = versions.withColumns({"_match": F.lit(None), "_whole": F.lit(False)})
    source = fresh.unionByName(gone, allowMissingColumns=True)
    same = F.col("t._key") == F.col("s._match")
    (
        DeltaTable.forPath(versions.sparkSession, path)
        .alias("t")
        .merge(source.alias("s"), same & (F.col("t._is_head") | F.col("s._whole")))
        .whenMatchedDelete()
        .whenNotMatchedInsert(F.col("s._match").isNull(), _values(versions.columns))
        .execute()
    )


def _values(columns: Sequence[str]) -> dict[str, str | Column]:
    return {quoted(name): f"s.{quoted(name)}" for name in columns}
