"""A workload as landing leaves it: one Delta table of raw records, a commit for each batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, WriterProperties, write_deltalake
from numpy.typing import NDArray

from bench.cases import envelope
from bench.cases.stream import DELETE, NOBODY, Shape, Stream
from strandline.alone.stores.landing import LANDING

STATISTICS = {"delta.dataSkippingStatsColumns": "topic,topic_id,partition,offset,timestamp"}

ROW_GROUP = 10_000
_SLICE = 200_000  # records that are text at one time
_SEGMENT = 64 << 20  # letters of long notes that are one file, as landing has it by default
_DAY = date(2026, 11, 20)
_KAFKA_DELAY_US = 500_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """Records in the order of arrival: which change each repeats, and where it lies in Kafka.

    `tombstone` marks the record without value behind a delete.
    """

    change: NDArray[np.int64]
    tombstone: NDArray[np.bool_]
    batch: NDArray[np.int16]
    partition: NDArray[np.int32]
    offset: NDArray[np.int64]

    def ends(self, partitions: int, batches: int) -> list[list[int]]:
        """The next offset of each partition after each batch, the base being the first."""
        return [
            np.bincount(self.partition[self.batch <= batch], minlength=partitions).tolist()
            for batch in range(batches + 1)
        ]


def arrival(changes: Stream, shape: Shape, table: int) -> Arrival:
    """How the changes arrive: batch after batch, tombstones behind deletes, some a second time."""
    chance = np.random.default_rng([shape.seed, table, 1])
    every = np.arange(len(changes))
    twice = np.array([0.0, *(batch.duplicates for batch in shape.batches)])
    again = every[chance.random(len(changes)) < twice[changes.batch]]
    change = np.concatenate([every, again])
    # A second delivery comes somewhere behind the first, in the same batch.
    behind = np.concatenate([np.zeros(len(every)), chance.integers(1, 1_000, len(again))])
    order = np.lexsort((change + behind, changes.batch[change]))
    change = change[order]
    copies = 1 + (changes.op[change] == DELETE)
    tombstone = np.zeros(copies.sum(), dtype=bool)
    tombstone[1:] = np.repeat(copies == 2, copies)[1:]
    change = np.repeat(change, copies)
    first = np.concatenate([[0], np.cumsum(copies)[:-1]])
    tombstone[first] = False
    key = changes.key[change]
    anywhere = chance.integers(0, shape.partitions, len(change))
    partition = np.where(key == NOBODY, anywhere, key % shape.partitions).astype(np.int32)
    return Arrival(change, tombstone, changes.batch[change], partition, _offsets(partition))


def _offsets(partition: NDArray[np.int32]) -> NDArray[np.int64]:
    """Each record's number within its partition."""
    order = np.argsort(partition, kind="stable")
    grouped = partition[order]
    start = np.searchsorted(grouped, grouped)
    offset = np.empty(len(partition), dtype=np.int64)
    offset[order] = np.arange(len(partition)) - start
    return offset


def land(path: Path, tables: Sequence[tuple[str, Stream, Arrival]], shape: Shape) -> list[int]:
    """Writes the landing table; its version after the base and after each batch."""
    DeltaTable.create(
        path.as_posix(), LANDING, partition_by=["landed_date"], configuration=STATISTICS
    )
    versions = []
    for batch, size in enumerate(shape.sizes):
        every = slices(tables, shape, batch)
        if shape.letters:
            for each in every:
                _write(path, iter([each]), page=1)
        elif size:
            _write(path, every, page=1024)
        versions.append(DeltaTable(path.as_posix()).version())
    return versions


def _write(path: Path, batches: Iterator[pa.RecordBatch], page: int) -> None:
    """One file, as landing writes it: after so many records the writer looks at its page's size."""
    write_deltalake(
        path.as_posix(),
        pa.RecordBatchReader.from_batches(LANDING, batches),
        mode="append",
        writer_properties=WriterProperties(
            compression="ZSTD", max_row_group_size=ROW_GROUP, write_batch_size=page
        ),
    )


def slices(
    tables: Sequence[tuple[str, Stream, Arrival]], shape: Shape, batch: int
) -> Iterator[pa.RecordBatch]:
    """The records of a batch, some at a time."""
    for table, changes, arrived in tables:
        places = np.flatnonzero(arrived.batch == batch)
        size = max(_SEGMENT // shape.letters, 1) if shape.letters else _SLICE
        for start in range(0, len(places), size):
            yield _records(table, changes, arrived, places[start : start + size], shape)


def _records(
    table: str, changes: Stream, arrived: Arrival, places: NDArray[np.int64], shape: Shape
) -> pa.RecordBatch:
    found = changes.where(arrived.change[places])
    count = len(places)
    topic = envelope.topic(table)
    value = envelope.records(found, table, schemas=shape.schemas)
    gone = pa.array(arrived.tombstone[places])
    columns = {
        "topic": _constant(topic, count),
        "topic_id": _constant(topic_id(table), count),
        "partition": pa.array(arrived.partition[places]),
        "offset": pa.array(arrived.offset[places]),
        "timestamp": pa.array(found.micros + _KAFKA_DELAY_US),
        "timestamp_type": pa.array(np.ones(count, dtype=np.int32)),
        "leader_epoch": pa.array(np.zeros(count, dtype=np.int32)),
        "key": envelope.keys(found, schemas=shape.schemas),
        "value": pc.if_else(gone, pa.scalar(None, pa.binary()), value),
        "headers": envelope.headers(found, schemas=shape.schemas),
        "landed_date": pa.array([_DAY], pa.date32()).take(pa.array(np.zeros(count, dtype=int))),
    }
    arrays = [columns[column.name].cast(column.type) for column in LANDING]
    return pa.RecordBatch.from_arrays(arrays, schema=LANDING)


def topic_id(table: str) -> str:
    """The id of the topic's incarnation; any text will do."""
    return f"id-of-{table}"


def _constant(text: str, count: int) -> pa.Array:
    return pa.array([text]).take(pa.array(np.zeros(count, dtype=int)))
