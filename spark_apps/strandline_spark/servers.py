"""Rows of several servers in columns; the twin of `changes.scope` and `law.doubts.servers`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from strandline.changes import scope
from strandline_spark.link import BASE, by_key, is_image
from strandline_spark.single import single
from strandline_spark.windows import of_key

_SEPARATOR = "/"
_EPOCH = 4  # digits


def scope_of(epoch: Column, server: Column, table: Column, marked: Column) -> Column:
    """The scope of a record; NULL where nobody names its table."""
    mark = F.when(marked, scope.MARK).otherwise("")
    return F.concat(epoch, *_after(F.coalesce(server, F.lit(""))), *_after(mark), *_after(table))


def known(of: Column) -> Column:
    """All of a scope but its epoch."""
    return of.substr(F.lit(_EPOCH + 1), F.length(of))


def table(of: Column) -> Column:
    """The table's name, as the source has it."""
    return _parts(of)[3]


def concerns(fence: Column, row: Column) -> Column:
    """Whether a fence is of the row's table."""
    of_fence, of_row = _parts(fence), _parts(row)
    apart = (of_row[2] == scope.MARK) & _apart(of_fence, of_row)
    return (of_fence[3] == of_row[3]) & ~apart


def tag(of: Column) -> Column:
    """Epoch and server; NULL where nobody says whose the record is."""
    parts = _parts(of)
    return F.when(parts[1] != "", F.concat(parts[0], F.lit(_SEPARATOR), parts[1]))


def tags(changes: DataFrame) -> frozenset[str]:
    """All of them, or two of several."""
    of = tag(F.col("_scope"))
    found = changes.agg(F.min(of).alias("first"), F.max(of).alias("last"))
    return frozenset(single(found)) - {None}


def mixed(rows: DataFrame, fenced: DataFrame) -> str | None:
    """Of rows and of their fences the first record of a row of another server, in words.

    `rows` are the distinct changes of keys, a base row in front of newer ones; `fenced` those of
    them that stand, with `_fence`.
    """
    met = _of_keys(rows).unionByName(_of_fences(fenced)).where(_strangers())
    first = single(met.agg(F.min(F.struct("offset", "partition", "own", "before"))))[0]
    return None if first is None else scope.mixed(**first.asDict())


def _of_keys(rows: DataFrame) -> DataFrame:
    own = F.col("_scope")
    arrival = of_key(own.substr(1, _EPOCH)).orderBy(F.col("_op") != BASE, "_offset", "_partition")
    return rows.where(tag(own).isNotNull()).select(
        F.col("_offset").alias("offset"),
        F.col("_partition").alias("partition"),
        own.alias("own"),
        F.first(own).over(arrival).alias("before"),
    )


def _of_fences(fenced: DataFrame) -> DataFrame:
    cut, following = F.col("_fence"), F.lead("_seq").over(by_key())
    ends = cut["_seq"].isNotNull() & (following.isNull() | (cut["_seq"] < following))
    told = fenced.select(
        cut["_offset"].alias("offset"),
        cut["_partition"].alias("partition"),
        cut["_scope"].alias("own"),
        F.col("_scope").alias("before"),
        (ends & is_image()).alias("ends"),
    )
    return told.where("ends").drop("ends")


def _strangers() -> Column:
    """Two servers in one epoch."""
    own, before = _parts(F.col("own")), _parts(F.col("before"))
    return (own[0] == before[0]) & _apart(own, before)


def _apart(one: Column, other: Column) -> Column:
    return (one[1] != "") & (other[1] != "") & (one[1] != other[1])


def _after(part: Column) -> tuple[Column, Column]:
    return F.lit(_SEPARATOR), part


def _parts(of: Column) -> Column:
    """Epoch, server, mark, table."""
    return F.split(of, _SEPARATOR, 4)
