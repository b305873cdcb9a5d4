"""Delta tables as the engine uses them: existence, transactions, fenced writes.

Every commit of a run carries (application, run number); Delta refuses a second one, so a repeated
or stale run changes nothing (docs/facts/delta.md, "Idempotence").
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import reduce
from typing import Any, cast

from delta import exceptions
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from strandline.cells import naming
from strandline.errors import Terminal
from strandline.runs import commit, note
from strandline_spark import gateway, settings
from strandline_spark.files import read_text

APPLICATION = "strandline"

# Somebody else has committed to a table since it was looked at. They have no common class.
OVERTAKEN = (
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentDeleteDeleteException,
    exceptions.ConcurrentDeleteReadException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
    exceptions.DeltaConcurrentModificationException,
    exceptions.MetadataChangedException,
    exceptions.ProtocolChangedException,
)

_CONF = "spark.databricks.delta"
_LOCAL = "timestamp_ntz"
_LOCAL_TIMES = {"delta.feature.timestampNtz": "supported"}
_NAMING = {"delta.columnMapping.mode": "name"}


def quoted(name: str) -> str:
    """A column's name as Spark's `col` wants it: letters in backticks stand for themselves."""
    return "`" + name.replace("`", "``") + "`"


def exists(spark: SparkSession, path: str) -> bool:
    """True where a Delta table lies at the path."""
    # Delta remembers that there was none: somebody else may have made it since.
    return DeltaTable.isDeltaTable(spark, path) or _log(spark, path).version() >= 0


def read(spark: SparkSession, path: str, at: int | None = None) -> DataFrame:
    """The table at a version, by default its newest."""
    reader = spark.read.format("delta")
    return (reader if at is None else reader.option("versionAsOf", at)).load(path)


def version(spark: SparkSession, path: str) -> int:
    """The newest version's number, -1 where there is no table."""
    if not exists(spark, path):
        return -1
    return int(_log(spark, path).version())


def applied(spark: SparkSession, path: str, application: str = APPLICATION) -> int:
    """The highest run that has committed to the table, -1 where none has."""
    if not exists(spark, path):
        return -1
    found = [t.version() for t in _transactions(spark, path) if t.appId() == application]
    return int(max(found, default=-1))


def latest(spark: SparkSession, path: str) -> int:
    """The highest run that has committed to the table for any application, -1 where none has."""
    if not exists(spark, path):
        return -1
    return int(max((t.version() for t in _transactions(spark, path)), default=-1))


def _transactions(spark: SparkSession, path: str) -> Iterator[Any]:
    """The newest transaction of each application that ever wrote to the table, as Java objects.

    The checksum that Delta writes beside a commit has them; to find them without it takes a job.
    """
    snapshot = _log(spark, path)
    checksum = snapshot.checksumOpt()
    noted = checksum.get().setTransactions() if checksum.isDefined() else checksum
    found = noted.get() if noted.isDefined() else snapshot.setTransactions()
    return map(found.apply, range(found.size()))


def _log(spark: SparkSession, path: str) -> Any:
    """The table's snapshot in Java; transactions have no other door than the log (Delta 4.4)."""
    jvm = gateway.jvm(spark)
    delta_log = jvm.org.apache.spark.sql.delta.DeltaLog
    log = delta_log.forTable(spark._jsparkSession, path)  # noqa: SLF001
    none = jvm.scala.Option.empty()
    return log.update(False, none, none)


def checkpointed(spark: SparkSession, path: str) -> int:
    """Writes a checkpoint of the newest version; its number."""
    snapshot = _log(spark, path)
    none = gateway.jvm(spark).scala.Option.empty()
    snapshot.deltaLog().checkpoint(snapshot, none)
    return int(snapshot.version())


def schema(ddl: str) -> StructType:
    """The columns that a text declares."""
    return cast("StructType", StructType.fromDDL(ddl))  # so it is, though declared as DataType


def create(
    spark: SparkSession,
    path: str,
    schema: StructType,
    partitions: list[str],
    properties: Mapping[str, str],
) -> None:
    """Makes the table where there is none; two makers at once are as good as one."""
    if exists(spark, path):
        return
    nothing = spark.createDataFrame([], schema).write.format("delta").mode("append")
    # Not Delta's own way of making a table: that stumbles over somebody who is making it.
    with suppress(*OVERTAKEN):
        nothing.partitionBy(*partitions).options(**properties).save(path)


def evolve(rows: DataFrame, path: str) -> None:
    """Lets the table take what the rows have: local times, names of any letters.

    Only then: a table with such a feature is for fewer readers. Its files stay as they are.
    """
    spark = rows.sparkSession
    if not exists(spark, path):
        return
    stored = {field.name: field.dataType.simpleString() for field in read(spark, path).schema}
    types = {field.name: field.dataType.simpleString() for field in rows.schema}
    if _LOCAL in types.values() and _LOCAL not in stored.values():
        set_properties(spark, path, _LOCAL_TIMES)
    if naming_features(types) and not naming_features(stored):
        set_properties(spark, path, _NAMING)


def naming_features(columns: Iterable[str]) -> Mapping[str, str]:
    """The properties of a table that has such columns: any letters take Delta's column mapping."""
    return {} if all(map(naming.is_plain, columns)) else _NAMING


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Gives the table these properties."""
    place = path.replace("`", "``")
    named = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ({named})")


def properties(spark: SparkSession, path: str) -> Mapping[str, str]:
    """What the table's log says of how it is kept."""
    found = _log(spark, path).metadata().configuration()
    names = found.keys().iterator()
    told = {}
    while names.hasNext():
        name = names.next()
        told[str(name)] = str(found.apply(name))
    return told


def append(rows: DataFrame, path: str, run: int, application: str = APPLICATION) -> None:
    """Appends the rows once; columns that the table lacks are added."""
    (
        rows.write.format("delta")
        .mode("append")
        .option("mergeSchema", "true")
        .option("txnAppId", application)
        .option("txnVersion", str(run))
        .save(path)
    )


def delete(spark: SparkSession, path: str, where: Column) -> None:
    """Deletes the rows that meet the condition."""
    DeltaTable.forPath(spark, path).delete(where)


def remove(spark: SparkSession, path: str, places: DataFrame, reach: Column) -> int:
    """Deletes the rows of the table (`t`) at these places, within reach; how many places it were.

    Doing it again finds nothing.
    """
    places = places.distinct()
    count = places.count()
    if count:
        same = (F.col(f"t.{name}") == F.col(f"s.{name}") for name in places.columns)
        found = reduce(lambda a, b: a & b, same, reach)
        merge = DeltaTable.forPath(spark, path).alias("t").merge(places.alias("s"), found)
        merge.whenMatchedDelete().execute()
    return count


def committed_at(spark: SparkSession, path: str, number: int) -> float | None:
    """When a version was committed, in seconds since 1970; None where the log has it no more."""
    try:
        return commit.committed_at(read_text(spark, f"{path}/_delta_log/{number:020d}.json"))
    except FileNotFoundError:
        return None


def texts(spark: SparkSession, path: str, at: int | None = None) -> Iterator[tuple[int, str]]:
    """What runs left with their commits (see `fenced`), newest first, as far as the log goes back.

    Up to that version; None: the newest. Read from the log's files: that starts no job.
    """
    for number in range(version(spark, path) if at is None else at, -1, -1):
        try:
            text = read_text(spark, f"{path}/_delta_log/{number:020d}.json")
        except FileNotFoundError:
            return
        yield from note.of_commit(text)


def metadata(spark: SparkSession, path: str, run: int) -> str:
    """The text that the run left with its commit."""
    for number, text in texts(spark, path):
        if number == run:
            return text
    raise Terminal(f"{path}: run {run} was applied, but its commit is no longer in the log")


@contextmanager
def fenced(
    spark: SparkSession, run: int, text: str, application: str = APPLICATION
) -> Iterator[None]:
    """The commit inside carries the run's transaction, and `text` for `metadata` to find.

    The settings are of the session: every table is worked on in a session of its own.
    """
    own = {f"{_CONF}.write.txnAppId": application, f"{_CONF}.write.txnVersion": str(run)}
    with settings.during(spark, own), noting(spark, run, text):
        yield


def noting(spark: SparkSession, run: int, text: str) -> AbstractContextManager[None]:
    """The commit inside carries `text`, and is made even where it brings nothing else."""
    own = {
        f"{_CONF}.commitInfo.{note.METADATA}": note.written(run, text),
        f"{_CONF}.skipRecordingEmptyCommits": "false",
    }
    return settings.during(spark, own)
