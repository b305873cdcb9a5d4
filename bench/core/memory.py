"""What a key with very many changes takes: peak memory beyond the batch in hand.

The records lie in a file. A process reads it batch by batch and lets the batches go, another gives
them to the subject, and their peaks are compared.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.cases import landed
from bench.cases.stream import stream
from bench.core import subjects
from bench.core.records import TABLE, Records, one_key

_BATCH = 10_000  # records in hand at one time
_SIDES = ("floor", "subject")


def beyond(changes: int) -> int:
    """Bytes that the subject adds to the peak."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.parquet"
        write(file, changes)
        floor, subject = (_peak(file, side) for side in _SIDES)
    return max(subject - floor, 0)


def write(file: Path, changes: int) -> None:
    """Writes the records of a key."""
    shape = one_key(changes)
    made = stream(shape)
    arrived = landed.arrival(made, shape, 0)
    with pq.ParquetWriter(file, landed.LANDING, compression="zstd") as writer:
        for batch in landed.slices([(TABLE, made, arrived)], shape, 1):
            writer.write_batch(batch, row_group_size=landed.ROW_GROUP)


def batches(file: Path) -> Iterator[Records]:
    """The records of a file, some at a time; how many versions a part makes, nobody says."""
    with pq.ParquetFile(file) as source:
        for batch in source.iter_batches(_BATCH):
            table = pa.Table.from_batches([batch])
            yield Records(table, described=False, versions=0)


def peak() -> int:
    """The most bytes that this process has held; `getrusage` would count those of its parent."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _peak(file: Path, side: str) -> int:
    """The most bytes that a process of its own has held."""
    command = [sys.executable, "-m", "bench.core.memory", str(file), side]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout)


def _main(file: str, side: str) -> None:
    read = batches(Path(file))
    if side == "floor":
        for _ in read:  # the next batch is made while the last one is still in hand, as anywhere
            pass
    elif subjects.hot_key is not None:
        for _ in subjects.hot_key(read):
            pass
    print(peak())


if __name__ == "__main__":
    _main(*sys.argv[1:])
