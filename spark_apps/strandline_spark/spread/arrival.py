"""The records that a run reads: those that landed, and where all are read anew those on record."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from strandline.alone.stores import landing as stored
from strandline.alone.stores.landing_files import Extract, Split
from strandline.alone.stores.tables import has_vectors, opened
from strandline.changes.record import Record
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut
from strandline.runs.reconciliation import TOPIC
from strandline_spark import delta, landing
from strandline_spark.spread.rows import PLACE, RECORD

ROW = pa.schema([*RECORD, ("run", pa.int32())])


_LEAST = 4 << 20  # bytes of files that are worth the start of a task

Batches = Iterator[pa.RecordBatch]
Task = Callable[[Iterable[pa.RecordBatch]], Batches]


class Rows(Protocol):
    """Records of a table with their run (`ROW`), wherever they lie."""

    @property
    def frame(self) -> DataFrame:
        """As Spark reads them."""

    def each(self, task: Task, schema: StructType) -> DataFrame:
        """What a task makes of them; each is handed some, in the order in which they lie."""


@dataclass(frozen=True, slots=True)
class Framed:
    """Rows that Spark reads."""

    frame: DataFrame

    def each(self, task: Task, schema: StructType) -> DataFrame:
        """See `Rows`."""
        return self.frame.mapInArrow(task, schema)


@dataclass(frozen=True)
class Landed:
    """What landed in these ranges, as the run's: tasks read the files of landing themselves."""

    spark: SparkSession
    manifest: Manifest
    ranges: Sequence[OffsetRange]

    @cached_property
    def frame(self) -> DataFrame:
        """See `Rows`."""
        version = self.manifest.landing_version
        rows = landing.records(self.spark, self._uri, version, self.ranges)
        return of_run(rows, self.manifest.number)

    def each(self, task: Task, schema: StructType) -> DataFrame:
        """See `Rows`."""
        shares = self._shares
        if shares is None:
            return self.frame.mapInArrow(task, schema)
        reading = _Reading(self._extract, shares, self.manifest.number, task)
        numbers = self.spark.range(0, len(shares), 1, max(1, len(shares)))
        return numbers.mapInArrow(reading, schema)

    @property
    def _uri(self) -> str:
        return SourceLake(self.manifest.lake, self.manifest.source).landing

    @cached_property
    def _extract(self) -> Extract:
        return Extract.of(self._uri, self.ranges)

    @cached_property
    def _shares(self) -> Sequence[Sequence[Split]] | None:
        """What of landing's files each task reads; None where only Spark knows what is in them."""
        version = self.manifest.landing_version
        table = opened(self._uri, version)
        if table is None:
            raise Terminal(f"{self._uri}: no landing table, of which the manifest pins {version}")
        if has_vectors(table):
            return None
        tasks = 2 * self.spark.sparkContext.defaultParallelism  # one may take longer than another
        return self._extract.shares(table, tasks, _LEAST)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A task that reads the shares of which it is told the numbers, and hands them on."""

    extract: Extract
    shares: Sequence[Sequence[Split]]
    run: int
    task: Task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Batches:
        return self.task(self._rows(batches))

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Batches:
        numbers = (number for batch in batches for number in batch[0].to_pylist())
        splits = (split for number in numbers for split in self.shares[number])
        for rows in (rows for split in splits for rows in self.extract.read(split)):
            run = pa.repeat(pa.scalar(self.run, ROW.field("run").type), rows.num_rows)
            yield pa.record_batch([*rows.columns, run], schema=ROW)


def landed_before(spark: SparkSession, manifest: Manifest, cut: TableCut, run: int) -> DataFrame:
    """What landed for a table of the release before outside of the run's own ranges.

    As that of another run. `Terminal` where landing no longer has all records of its changes.
    """
    lake = SourceLake(manifest.lake, manifest.source)
    table = delta.read(spark, lake.landing, manifest.landing_version)
    rows = table.where((F.col("topic") == cut.topic) & ~landing.within(cut.ranges))
    _refuse_loss(rows, lake, cut)
    return of_run(rows, run)


def refuse_loss(rows: DataFrame, manifest: Manifest, cut: TableCut) -> None:
    """`Terminal` where these lack a record of the changes that the release before has made."""
    _refuse_loss(rows, SourceLake(manifest.lake, manifest.source), cut)


def _refuse_loss(rows: DataFrame, lake: SourceLake, cut: TableCut) -> None:
    spark = rows.sparkSession
    if delta.exists(spark, lake.changes(cut.table)):
        applied = delta.applied(spark, lake.history(cut.table))
        changes = delta.read(spark, lake.changes(cut.table)).where(F.col("_run") <= applied)
        landed_ones = changes.where(F.col("_topic_id") != TOPIC)
        places = landed_ones.select(*(F.col(f"_{name}").alias(name) for name in PLACE)).distinct()
        lost = places.join(rows.select(*PLACE), list(PLACE), "left_anti").count()
        if lost:
            raise Terminal(
                f"{cut.topic}: {lost} changes of the table, which a release before has made, are "
                "of records that landing no longer has: let the connector take a new snapshot of "
                "the table into a topic of its own (docs/operations.md)"
            )


def made(spark: SparkSession, records: Iterable[Record], run: int) -> DataFrame:
    """Records that are at hand, as those of a run."""
    cells = [
        {**stored.cells(record), "headers": list(record.headers), "run": run} for record in records
    ]
    return spark.createDataFrame(cells, from_arrow_schema(ROW))


def of_run(rows: DataFrame, run: int) -> DataFrame:
    """Rows of records as those that a run has brought."""
    return rows.select(*RECORD.names, F.lit(run).cast("int").alias("run"))


def without(rows: DataFrame, others: DataFrame) -> DataFrame:
    """The rows that lie where none of the others does."""
    return rows.join(others.select(*PLACE), list(PLACE), "left_anti")
