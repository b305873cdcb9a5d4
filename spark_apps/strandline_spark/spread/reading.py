"""The first of two maps: landed records, each with the names under which it is found again."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.law.facts import NONE
from strandline.law.rounds import Said
from strandline.law.shard import Known, Read, Reader
from strandline_spark.spread.rows import ENTERED, REFUSED, Landed, uncollected
from strandline_spark.spread.telling import Telling

_READ = pa.schema([*ENTERED, *REFUSED])


def read(rows: DataFrame, known: Known, telling: Telling[Said]) -> DataFrame:
    """Rows (`RECORD` and `run`) with their entries, and why they are refused, where they are."""
    return rows.mapInArrow(_Reading(known, telling.tell), from_arrow_schema(_READ))


@dataclass(frozen=True, slots=True)
class _Reading:
    known: Known
    tell: Callable[[int, Said], None]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with uncollected():
            yield from self._each(batches)

    def _each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader.of(self.known)
        for number, batch in enumerate(batches):
            rows = Landed.of(pa.Table.from_batches([batch]))
            said = Said(landed=rows.corrected.num_rows)
            if rows.corrected.num_rows:
                yield from _of_corrections(rows.corrected)
            if rows.landed.num_rows:
                found = reader.read(rows.pile(self.known.making.topic).landed)
                nowhere = sum(found.keys[n] is None for n in found.refused)
                counts = rows.landed.num_rows, len(found.refused), nowhere
                said += Said(found.facts, found.lowest, *counts)
                yield from _with_entries(rows.landed, found)
            self.tell(number, said)


def _of_corrections(rows: pa.Table) -> list[pa.RecordBatch]:
    """What a reconciliation has made is found under its key, which is in place of a topic's id."""
    keys, none = rows["topic_id"].to_pylist(), [None] * rows.num_rows
    return _with_entries(rows, Read(keys, none, none, {}, NONE, ""))


def _with_entries(rows: pa.Table, of: Read) -> list[pa.RecordBatch]:
    refused: dict[str, list[str | None]] = {name: [None] * rows.num_rows for name in REFUSED.names}
    for n, why in of.refused.items():
        for name, said in zip(REFUSED.names, (why.key, why.reason, why.detail), strict=True):
            refused[name][n] = said
    named = {"entry_key": of.keys, "entry_other": of.others, "entry_link": of.links, **refused}
    columns = [
        pa.array(named[of.name], of.type) if of.name in named else rows[of.name].cast(of.type)
        for of in _READ
    ]
    return list(pa.table(columns, schema=_READ).to_batches())
