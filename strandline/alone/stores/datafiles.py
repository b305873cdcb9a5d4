"""Data files of a Delta table that tasks write beside each other, and one commit adds later.

A file that no commit adds, since its task was done twice or the run ended before, is removed by
`maintain` with all others that the table has no more.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from strandline.alone.stores import tables
from strandline.alone.stores.tables import storage_options

_LONG = 16 << 20  # bytes of rows that make a group of a file
_LARGE = 64 << 20  # bytes of a file behind which another one begins
_LONGEST = 64  # letters of a text that is worth to be a bound of a file's values


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file by its path in the table, and what Delta's log is to know of it."""

    path: str
    size: int
    partition: Mapping[str, str]
    statistics: str

    @property
    def action(self) -> AddAction:
        """As delta-rs adds it."""
        now = int(time.time() * 1000)
        return AddAction(self.path, self.size, dict(self.partition), now, True, self.statistics)


@dataclass(frozen=True, slots=True)
class Target:
    """The table at `uri` whose files are written, from any process; `options` are delta-rs's.

    `told` are columns of which the log is to know the bounds, `varied` those whose values are
    rarely the same in two rows.
    """

    uri: str
    told: Sequence[str]
    varied: Sequence[str]
    options: Mapping[str, str] | None = field(default=None, repr=False)

    @staticmethod
    def of(uri: str, told: Sequence[str], varied: Sequence[str]) -> "Target":
        """With the options of this process."""
        return Target(uri, told, varied, storage_options())

    def put(self, path: str, data: bytes) -> None:
        """Makes a file, which is there as a whole or not at all."""
        options = None if self.options is None else dict(self.options)
        tables.write(f"{self.uri}/{path}", data, options)


@dataclass(slots=True)
class Writer:
    """Writes rows of one task into files; `made` are those that are whole."""

    target: Target
    partition: Mapping[str, str] = field(default_factory=dict)
    made: list[DataFile] = field(default_factory=list)
    _held: list[pa.Table] = field(default_factory=list)
    _bytes: int = 0
    _sink: pa.BufferOutputStream | None = None
    _file: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """Takes rows, of which all are alike in their columns."""
        if not rows.num_rows:
            return
        self._held.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= _LONG:
            self._write_group()

    def close(self) -> Sequence[DataFile]:
        """All files, when no row is to come."""
        self._write_group()
        self._end()
        return tuple(self.made)

    def _write_group(self) -> None:
        if not self._held:
            return
        rows = pa.concat_tables(self._held)
        self._held, self._bytes = [], 0
        if self._file is None:
            self._sink = pa.BufferOutputStream()
            names = [name for name in rows.column_names if name not in self.target.varied]
            self._file = pq.ParquetWriter(
                self._sink,
                rows.schema,
                compression="zstd",
                use_dictionary=names,
                write_page_index=True,  # in a file in order of keys, a few pages have those wanted
                write_statistics=[name for name in self.target.told if name in rows.column_names],
            )
        self._file.write_table(rows, row_group_size=rows.num_rows)
        if self._sink is not None and self._sink.tell() >= _LARGE:
            self._end()

    def _end(self) -> None:
        if self._file is None or self._sink is None:
            return
        self._file.close()
        data = self._sink.getvalue()
        folder = "".join(f"{name}={value}/" for name, value in self.partition.items())
        path = f"{folder}part-{uuid4()}.zstd.parquet"
        self.target.put(path, data.to_pybytes())
        statistics = _statistics(pq.read_metadata(pa.BufferReader(data)), self.target.told)
        self.made.append(DataFile(path, data.size, self.partition, statistics))
        self._file = self._sink = None


@dataclass(slots=True)
class Writers:
    """Writes rows of one task into the partitions of a table, by a column that is true or false."""

    target: Target
    column: str
    _of: dict[bool, Writer] = field(default_factory=dict)

    def write(self, rows: pa.Table) -> None:
        """Takes rows, of which all are alike in their columns."""
        known = rows[self.column]
        for value in (True, False):
            own = rows.filter(known if value else pc.invert(known))
            if own.num_rows:
                partition = {self.column: str(value).lower()}
                writer = self._of.setdefault(value, Writer(self.target, partition))
                writer.write(own.drop_columns([self.column]))

    def close(self) -> Sequence[DataFile]:
        """All files, when no row is to come."""
        return [file for writer in self._of.values() for file in writer.close()]


def _statistics(file: pq.FileMetaData, told: Sequence[str]) -> str:
    """What Delta's log says of a file: its rows, and the bounds of some columns."""
    least: dict[str, object] = {}
    most: dict[str, object] = {}
    nulls: dict[str, int] = {}
    places = {file.schema.column(n).path: n for n in range(file.num_columns)}
    for name in (each for each in told if each in places):
        groups = [file.row_group(n).column(places[name]) for n in range(file.num_row_groups)]
        own = [group.statistics for group in groups]
        if any(each is None or not each.has_null_count for each in own):
            continue
        nulls[name] = sum(each.null_count for each in own)
        bounds = [each for each in own if each.has_min_max]
        if len(bounds) + sum(each.num_values == 0 for each in own) < len(own) or not bounds:
            continue
        lowest = _bound(min(each.min for each in bounds))
        highest = _bound(max(each.max for each in bounds))
        if lowest is not None and highest is not None:
            least[name], most[name] = lowest, highest
    said = {"numRecords": file.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    return json.dumps(said)


def _bound(value: Any) -> object:
    """A value as the log has it; None where it is none of a bound, be it for its length."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    is_short = isinstance(value, str) and len(value) <= _LONGEST
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_short or is_number else None
