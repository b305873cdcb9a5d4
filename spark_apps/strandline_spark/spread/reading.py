"""The first of two maps: landed records become rows on their way to the fold.

Beside that each task writes the records it reads into files of the store of records, under the
names by which they are found again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.alone.stores.datafiles import Writer
from strandline.law.facts import NONE
from strandline.law.rounds import Said
from strandline.law.shard import Known, Read, Reader
from strandline_spark.spread.arrival import Rows
from strandline_spark.spread.filing import Filing
from strandline_spark.spread.rows import (
    ENTERED,
    GROUP,
    ON_THE_WAY,
    RECORD,
    REFUSED,
    Landed,
    uncollected,
)
from strandline_spark.spread.telling import Telling

_REFUSED = pa.schema([*RECORD, *REFUSED, ("run", pa.int32())])


def read(
    rows: Rows,
    known: Known,
    telling: Telling[Said],
    entering: Filing | None = None,
    *,
    hands_on: bool = True,
) -> DataFrame:
    """What of these rows (`RECORD` and `run`) is on its way (`ON_THE_WAY`); none if not `hands_on`.

    `entering`: where tasks put them on record.
    """
    task = _Reading(known, telling.tell, entering, hands_on)
    return rows.each(task, from_arrow_schema(ON_THE_WAY))


def refused(rows: Rows, known: Known) -> DataFrame:
    """The records among these that cannot be read, each with the reason."""
    return rows.each(_Refusing(known), from_arrow_schema(_REFUSED))


@dataclass(frozen=True, slots=True)
class _Reading:
    known: Known
    tell: Callable[[int, Said], None]
    entering: Filing | None
    hands_on: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with uncollected():
            yield from self._each(batches)

    def _each(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader.of(self.known, hands_on=self.hands_on)
        writer = None if self.entering is None else Writer(self.entering.target)
        for number, rows in enumerate(_landed(batches)):
            said = Said(landed=rows.corrected.num_rows)
            if rows.corrected.num_rows:
                of_corrections = _of_corrections(rows.corrected)
                none: Sequence[None] = [None] * rows.corrected.num_rows
                own: _OnTheWay | None = (none, none) if self.hands_on else None
                yield from _taken(rows.corrected, of_corrections, own, writer)
            if rows.landed.num_rows:
                found = reader.read(rows.pile(self.known.making.topic).landed)
                nowhere = sum(found.keys[n] is None for n in found.refused)
                counts = rows.landed.num_rows, len(found.refused), nowhere
                said += Said(found.facts, found.lowest, *counts)
                transit = found.transit
                own = None if transit is None else (transit.row, transit.tombstone)
                yield from _taken(rows.landed, found, own, writer)
            self.tell(number, said)
        if writer is not None and self.entering is not None:
            self.entering.tell(tuple(writer.close()))


_OnTheWay = tuple[Sequence[bytes | None], Sequence[bytes | None]]


def _taken(
    rows: pa.Table, found: Read, on_the_way: _OnTheWay | None, writer: Writer | None
) -> Sequence[pa.RecordBatch]:
    """Has records written, and hands on what is on its way."""
    if writer is not None:
        writer.write(_entered(rows, found))
    if on_the_way is None:
        return ()
    named = {GROUP: found.keys, "row": on_the_way[0], "tombstone": on_the_way[1]}
    there = pa.array([key is not None for key in found.keys], pa.bool_())
    return list(_with(rows, named, ON_THE_WAY).filter(there).to_batches())


@dataclass(frozen=True, slots=True)
class _Refusing:
    known: Known

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader.of(self.known)
        for rows in _landed(batches):
            if rows.landed.num_rows:
                found = reader.read(rows.pile(self.known.making.topic).landed).refused
                own = rows.landed.take(pa.array(list(found), pa.int64()))
                why = [(each.key, each.reason, each.detail) for each in found.values()]
                said = zip(*why, strict=True) if why else [()] * len(REFUSED)
                named = dict(zip(REFUSED.names, map(list, said), strict=True))
                yield from _with(own, named, _REFUSED).to_batches()


def _landed(batches: Iterable[pa.RecordBatch]) -> Iterator[Landed]:
    return (Landed.of(pa.Table.from_batches([batch])) for batch in batches)


def _of_corrections(rows: pa.Table) -> Read:
    """What a reconciliation has made is found under its key, which is in place of a topic's id."""
    keys, none = rows["topic_id"].to_pylist(), [None] * rows.num_rows
    return Read(keys, none, none, {}, NONE, "")


def _entered(rows: pa.Table, of: Read) -> pa.Table:
    named = {"entry_key": of.keys, "entry_other": of.others, "entry_link": of.links}
    return _with(rows, named, ENTERED)


def _with(rows: pa.Table, named: Mapping[str, Sequence[object]], schema: pa.Schema) -> pa.Table:
    """Rows with these columns, of which some are named here."""
    columns = [
        pa.array(named[of.name], of.type) if of.name in named else rows[of.name].cast(of.type)
        for of in schema
    ]
    return pa.table(columns, schema=schema)
