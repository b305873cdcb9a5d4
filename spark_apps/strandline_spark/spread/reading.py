"""The first of two maps: landed records, each with the names under which it is found again."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.law import shard
from strandline.law.continuation import Entry
from strandline.law.rounds import Said
from strandline.law.shard import Known
from strandline_spark.spread.rows import ENTERED, REFUSED, Landed
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
        for number, batch in enumerate(batches):
            rows = Landed.of(pa.Table.from_batches([batch]))
            yield from _with_entries(rows.corrected, *_of_corrections(rows.corrected))
            if not rows.landed.num_rows:
                continue
            pile = rows.pile(self.known.making.topic)
            found = shard.read(self.known, pile.landed)
            refused = [found.refused.get(n) for n in range(len(pile.landed))]
            nowhere = sum(found.entries[n].key is None for n in found.refused)
            counts = len(pile.landed), len(found.refused), nowhere
            self.tell(number, Said(found.facts, found.lowest, *counts))
            said = [None if why is None else (why.key, why.reason, why.detail) for why in refused]
            yield from _with_entries(rows.landed, found.entries, said)


_Said = tuple[str | None, str, str]


def _of_corrections(rows: pa.Table) -> tuple[list[Entry], list[_Said | None]]:
    """What a reconciliation has made is found under its key, which is in place of a topic's id."""
    return [Entry(key) for key in rows["topic_id"].to_pylist()], [None] * rows.num_rows


def _with_entries(
    rows: pa.Table, entries: Iterable[Entry], refused: list[_Said | None]
) -> list[pa.RecordBatch]:
    own = list(entries)
    named = {
        "entry_key": [each.key for each in own],
        "entry_other": [each.other for each in own],
        "entry_link": [each.link for each in own],
        "record_key": [why and why[0] for why in refused],
        "reason": [why and why[1] for why in refused],
        "detail": [why and why[2] for why in refused],
    }
    columns = [
        pa.array(named[of.name], of.type) if of.name in named else rows[of.name].cast(of.type)
        for of in _READ
    ]
    return list(pa.table(columns, schema=_READ).to_batches()) if own else []
