"""Landed records as Spark's tasks have them: rows in Arrow become a pile that the law takes."""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from strandline.alone.stores import landing
from strandline.law.shard import Pile
from strandline.runs.reconciliation import TOPIC

RECORD = pa.schema(landing.RECORD)
ENTRY = pa.schema([(f"entry_{name}", pa.string()) for name in ("key", "other", "link")])
ENTERED = pa.schema([*ENTRY, *RECORD, ("run", pa.int32())])
REFUSED = pa.schema([(name, pa.string()) for name in ("record_key", "reason", "detail")])

# Records between the two maps: see `strandline.law.plain.transit`.
GROUP = "group"
ON_THE_WAY = pa.schema(
    [
        (GROUP, pa.string()),
        *((name, RECORD.field(name).type) for name in ("topic_id", "partition", "offset")),
        ("row", pa.binary()),
        ("tombstone", pa.binary()),
    ]
)

AT_ONCE = 20_000  # rows that a task takes: what is known of the table is made for each time
_LONG = 64 << 20  # bytes of rows that are enough for a task to hold
PLACE = ("topic_id", "partition", "offset")
_IN_ORDER = [(name, "ascending") for name in (*PLACE, "run")]


@dataclass(frozen=True, slots=True)
class Landed:
    """Rows of one topic, in order of their places, each once: those of the newest run stay.

    `corrected` are those that reconciliations have made.
    """

    landed: pa.Table
    corrected: pa.Table

    @staticmethod
    def of(rows: pa.Table) -> "Landed":
        """Any such rows."""
        ordered = rows
        if not _is_ordered(rows):
            ordered = rows.sort_by(_IN_ORDER)
            ordered = ordered.filter(_last(ordered))
        own = pc.fill_null(pc.equal(ordered["topic"], TOPIC), False)
        if not pc.any(own).as_py():
            return Landed(ordered, ordered.slice(0, 0))
        return Landed(ordered.filter(pc.invert(own)), ordered.filter(own))

    def before(self, run: int) -> "Landed":
        """Those that were on record before that run."""
        return Landed(*(of.filter(pc.less(of["run"], run)) for of in (self.landed, self.corrected)))

    def pile(self, topic: str) -> Pile:
        """The records as the law takes them."""
        corrected = [landing.record(row) for row in self.corrected.to_pylist()]
        return Pile(landing.columns(self.landed, topic), corrected)


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, nobody looks for cycles of objects: what is made of records has none, and is much."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _is_ordered(rows: pa.Table) -> bool:
    """Whether the rows are surely in order of their places, each once, as they mostly are."""
    if pc.count_distinct(rows["topic_id"], mode="all").as_py() != 1:
        return False
    count = len(rows)
    partition, offset = (rows[name].combine_chunks() for name in ("partition", "offset"))
    before, after = slice(0, count - 1), slice(1, count)
    along = pc.equal(partition[before], partition[after])
    along = pc.and_(along, pc.less(offset[before], offset[after]))
    return bool(pc.all(pc.or_(along, pc.less(partition[before], partition[after]))).as_py())


def _last(rows: pa.Table) -> pa.Array:
    """Of rows in order: whether no other of the same place follows."""
    count = len(rows)
    if count < 2:
        return pa.array([True] * count)
    same = None
    for name in PLACE:
        column = rows[name].combine_chunks()
        alike = pc.equal(column.slice(0, count - 1), column.slice(1))
        same = alike if same is None else pc.and_(same, alike)
    return pa.concat_arrays([pc.invert(same), pa.array([True])])


def chunks(batches: Iterable[pa.RecordBatch], size: int = AT_ONCE) -> Iterator[pa.Table]:
    """Rows that come sorted by their group, a number of whole groups at a time."""
    held: list[pa.Table] = []
    for rows, goes_on in _cut(batches, size, lambda _: 0):
        held.append(rows)
        if not goes_on:
            yield pa.concat_tables(held)
            held = []


def pieces(
    batches: Iterable[pa.RecordBatch], size: int = AT_ONCE
) -> Iterator[tuple[pa.Table, bool]]:
    """The same of rows on their way; of large groups a piece, and whether more is to come.

    A piece of a group ends where a row follows, so that a tombstone is never parted from the record
    before it.
    """
    return _cut(batches, size, _end)


def _cut(
    batches: Iterable[pa.RecordBatch], size: int, end: Callable[[pa.Table], int]
) -> Iterator[tuple[pa.Table, bool]]:
    held: list[pa.RecordBatch] = []
    count = length = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        count, length = count + batch.num_rows, length + batch.nbytes
        if count < size and length < _LONG:
            continue
        rows = pa.Table.from_batches(held)
        first, last = rows[GROUP][0], rows[GROUP][-1]
        if first != last:
            place = pc.index(rows[GROUP], last).as_py()
            yield rows.slice(0, place), False
            rows = rows.slice(place)
        elif place := end(rows):
            yield rows.slice(0, place), True
            rows = rows.slice(place)
        held, count, length = rows.to_batches(), rows.num_rows, rows.nbytes
    if held:
        yield pa.Table.from_batches(held), False


def _end(rows: pa.Table) -> int:
    """Where the last row is, before which a piece may end; 0: nowhere."""
    known = rows["row"].is_valid().to_pylist()
    return len(known) - 1 - known[::-1].index(True) if True in known else 0
