"""A history that is many times as long: its closed versions, and its records, once more before it.

What a run goes on from is as it was. The versions lie in earlier days, and at earlier places of the
log than any change of the stream (see `bench.cases.stream`); they are as many for each key as it
has had, and stand as if the key had been deleted in between.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema
from strandline_spark.spread.store import Store

from bench.cases.stream import ERA_BITS
from strandline.alone.stores import history
from strandline.alone.stores.datafiles import DataFile, Target, Writer
from strandline.changes import columns as own
from strandline.changes.position import FIRST_EPOCH

_A_DAY = pa.scalar(86_400_000_000, pa.duration("us"))
_AT_ONCE = 100_000  # rows
# Where the digits of an era begin in a position: of the two numbers that its major part is made of.
_PLACES = (len(FIRST_EPOCH), len(FIRST_EPOCH) + 16)
_DIGITS = (64 - ERA_BITS) // 4

Change = Callable[[pa.Table, int], pa.Table]


def repeat(uri: str, records: Store, times: int) -> None:
    """Adds what the history at `uri` has had, and its records, so many times."""
    stored = DeltaTable(uri)
    closed = [path for path in stored.file_uris() if f"{own.IS_HEAD}=false" in path]
    target = history.target(uri, history.columns(stored))
    _add(stored, closed, target, {own.IS_HEAD: "false"}, _earlier, times)
    kept = DeltaTable(records.uri)
    _add(kept, kept.file_uris(), records.target, {}, _elsewhere, times)


def _add(  # noqa: PLR0913, PLR0917 - a table, what is read of it, and how it is written
    table: DeltaTable,
    files: Sequence[str],
    target: Target,
    partition: dict[str, str],
    change: Change,
    times: int,
) -> None:
    def written(path: str) -> list[DataFile]:
        made: list[DataFile] = []
        for number in range(times):
            writer = Writer(target, partition)
            for batch in pq.ParquetFile(Path(path)).iter_batches(_AT_ONCE, use_threads=False):
                writer.write(change(pa.Table.from_batches([batch]), number))
            made += writer.close()
        return made

    with ThreadPoolExecutor(2) as pool:
        actions = [file.action for found in pool.map(written, files) for file in found]
    schema = Schema.from_arrow(pa.schema(table.schema().to_arrow()))
    table.create_write_transaction(actions, "append", schema, list(partition))


def _earlier(rows: pa.Table, number: int) -> pa.Table:
    """Closed versions in an era before that of the stream."""
    for name in (own.VALID_FROM, own.VALID_TO, own.SOURCE_TS):
        shift = pc.multiply(_A_DAY, number + 1)
        rows = _with(rows, name, pc.subtract(rows[name], shift))
    for name in (own.SEQ_FROM, own.SEQ_TO, own.SEQ_SEEN):
        texts = rows[name]
        for place in _PLACES:
            era = f"{number:0{_DIGITS}x}"
            texts = pc.binary_replace_slice(texts.cast(pa.binary()), place, place + _DIGITS, era)
        rows = _with(rows, name, texts.cast(pa.string()))
    return rows


def _elsewhere(rows: pa.Table, number: int) -> pa.Table:
    """Records of another incarnation of their topic."""
    ids = rows["topic_id"]
    return _with(rows, "topic_id", pc.binary_join_element_wise(ids, str(number), "-"))


def _with(rows: pa.Table, name: str, column: pa.ChunkedArray) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), column)
