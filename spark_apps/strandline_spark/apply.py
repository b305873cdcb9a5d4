"""Stage apply: the versions of the touched keys go into the history in one fenced Delta commit.

The table is partitioned by `_is_head` (the last version of each key), so replacing heads never
reads closed versions; deletion vectors keep the write as small as the change.
"""

from collections.abc import Mapping, Sequence

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline_spark import delta
from strandline_spark.changes import quoted
from strandline_spark.heads import Touched

PARTITION = "_is_head"
_PROPERTIES = {"delta.enableDeletionVectors": "true"}


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

    Of a key that is appended to only the head is replaced, of a re-derived one every version.
    """
    if not keys.count:
        append(versions, path)  # nothing, but the run's mark
        return
    if not keys.rederived:
        _replace_heads(versions, path)
        return
    gone = keys.rows.select(F.col("_key").alias("_match"), F.col("_rederive").alias("_whole"))
    fresh = versions.withColumns({"_match": F.lit(None), "_whole": F.lit(False)})
    source = fresh.unionByName(gone, allowMissingColumns=True)
    same = F.col("t._key") == F.col("s._match")
    head = F.col("t._is_head") == F.lit(True)
    # Only where a key is re-derived may the condition reach beyond the partition of the heads.
    reach = same & (head | F.col("s._whole")) if keys.rederived else head & same
    (
        DeltaTable.forPath(versions.sparkSession, path)
        .alias("t")
        .merge(source.alias("s"), reach)
        .whenMatchedDelete()
        .whenNotMatchedInsert(F.col("s._match").isNull(), _values(versions.columns))
        .execute()
    )


def _replace_heads(versions: DataFrame, path: str) -> None:
    """The same where every key has its old head among its versions, closed or as it was.

    So no head is taken away that is not written again: in one pass over the heads' keys, where a
    merge looks for them and then joins them (`replaceOn`). No column is called like the aliases.
    """
    writer = versions.alias("_new").write.format("delta").mode("overwrite")
    same = f"_standing.{PARTITION} = true AND _standing._key = _new._key"
    writer.options(replaceOn=same, targetAlias="_standing").save(path)


def _values(columns: Sequence[str]) -> Mapping[str, str]:
    return {quoted(name): f"s.{quoted(name)}" for name in columns}
