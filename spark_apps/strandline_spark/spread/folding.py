"""The second of two maps: the records of whole groups become the versions of their keys."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from strandline.alone.stores import history
from strandline.alone.stores.datafiles import Target, Writers
from strandline.cells.types import ColumnType
from strandline.changes.columns import IS_CURRENT, IS_HEAD
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.errors import Terminal
from strandline.law import shard
from strandline.law.shard import Known, Told
from strandline_spark import delta
from strandline_spark.delta import quoted
from strandline_spark.spread.filing import Files, Filing
from strandline_spark.spread.rows import Landed, chunks, uncollected
from strandline_spark.spread.telling import Telling


def fold(  # noqa: PLR0913, PLR0917 - what a task is given
    rows: DataFrame,
    now: Known,
    before: Known,
    run: int,
    columns: Mapping[str, ColumnType],
    telling: Telling[Told],
) -> DataFrame:
    """The versions of the rows' groups; the rows come sorted by these, each in one task."""
    task = _Folding(now, before, run, columns, telling.tell)
    return rows.mapInArrow(task, history_schema(columns))


def write(versions: DataFrame, target: Target) -> tuple[Mapping[str, int], Files]:
    """Has tasks write versions to files: how many they are, and the files."""
    spark = versions.sparkSession
    sums, filing = Telling.of(spark, Counter[str]()), Filing.of(spark, target)
    task = _Writing(filing, sums.tell)
    versions.mapInArrow(task, versions.schema).write.format("noop").mode("overwrite").save()
    return sums.told, filing.files


def history_schema(columns: Mapping[str, ColumnType]) -> StructType:
    """The columns of a history with these business columns."""
    business = [(quoted(name), of.spark) for name, of in columns.items()]
    own = [*business, *COLUMNS, *INTERNAL_COLUMNS]
    return delta.schema(", ".join(f"{name} {of}" for name, of in own))


@dataclass(frozen=True, slots=True)
class _Folding:
    now: Known
    before: Known
    run: int
    columns: Mapping[str, ColumnType]
    tell: Callable[[int, Told], None]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with uncollected():
            yield from self._each(batches)

    def _each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        topic = self.now.making.topic
        for number, rows in enumerate(chunks(batches)):
            landed = Landed.of(rows)
            known = landed.before(self.run)
            try:
                made = shard.derived(self.now, landed.pile(topic), self.before, known.pile(topic))
            except Terminal as error:
                self.tell(number, Told(error=str(error)))
                continue
            self.tell(number, made.told)
            yield from history.all_made(made.versions, self.columns, topic).to_batches()


@dataclass(frozen=True, slots=True)
class _Writing:
    filing: Filing
    tell: Callable[[int, Counter[str]], None]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writers, sums = Writers(self.filing.target, IS_HEAD), Counter[str]()
        for batch in batches:
            writers.write(pa.Table.from_batches([batch]))
            sums += Counter(made=batch.num_rows, open=pc.sum(batch[IS_CURRENT]).as_py() or 0)
            yield batch.slice(0, 0)
        self.tell(0, sums)
        self.filing.tell(tuple(writers.close()))
