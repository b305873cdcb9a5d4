"""The second of two maps: the records of whole groups become the versions of their keys."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from strandline.alone.stores import history
from strandline.cells.types import ColumnType
from strandline.changes.version import COLUMNS, INTERNAL_COLUMNS
from strandline.errors import Terminal
from strandline.law import shard
from strandline.law.shard import Known, Told
from strandline_spark import delta
from strandline_spark.delta import quoted
from strandline_spark.spread.groups import GROUP
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
    made = history_schema(columns)
    return rows.mapInArrow(_Folding(now, before, run, columns, telling.tell), made)


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
        for number, rows in enumerate(chunks(batches, GROUP)):
            landed = Landed.of(rows)
            known = landed.before(self.run)
            try:
                made = shard.derived(self.now, landed.pile(topic), self.before, known.pile(topic))
            except Terminal as error:
                self.tell(number, Told(error=str(error)))
                continue
            self.tell(number, made.told)
            yield from history.all_made(made.versions, self.columns, topic).to_batches()
