"""The files that landed records lie in: found by landing's log, read in splits by any process."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import PyFileSystem

from strandline.alone.stores.faults import explained
from strandline.alone.stores.landing import RECORD
from strandline.alone.stores.tables import storage_options
from strandline.errors import Transient
from strandline.runs.manifest import OffsetRange

_SCHEMA = pa.schema(RECORD)
_EPOCH = pa.scalar(0, _SCHEMA.field("timestamp").type)
_AT_ONCE = 10_000  # rows
_LONG = 16 << 20  # bytes of rows at once
_STATISTICS = ("size_bytes", "num_records", "min.topic", "max.topic", "min.offset", "max.offset")


@dataclass(frozen=True, slots=True)
class LandingFile:
    """A file by what the log says of it; None where nobody wrote that."""

    path: str
    size: int
    records: int | None
    first_topic: str | None
    last_topic: str | None
    begin: int | None
    end: int | None

    def bytes_of(self, of: OffsetRange) -> float:
        """About how many bytes of it are of the range; all of them where nothing is known."""
        if not _may_hold(of, self.first_topic, self.last_topic, self.begin, self.end):
            return 0
        if self.begin is None or self.end is None or not self.records:
            return self.size
        shared = min(of.end, self.end + 1) - max(of.start, self.begin)
        return self.size * min(1.0, shared / self.records)


def _may_hold(
    of: OffsetRange, first: str | None, last: str | None, begin: int | None, end: int | None
) -> bool:
    """Whether a record of the range may be among some with these bounds of topic and offset."""
    if first is not None and not first <= of.topic <= (last or of.topic):
        return False
    return begin is None or end is None or (of.start <= end and begin < of.end)


def files(table: DeltaTable) -> list[LandingFile]:
    """All files of the landing table."""
    with explained(table.table_uri):
        log = pa.table(table.get_add_actions(flatten=True))
    columns = (
        log[name].to_pylist() if name in log.column_names else [None] * log.num_rows
        for name in ("path", *_STATISTICS)
    )
    return [LandingFile(*cells) for cells in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True)
class Split:
    """What one process reads of a file: the groups of rows whose middle is in these bytes of it."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extract:
    """The records of some ranges, which lie in files of the landing table at `uri`.

    `options` are delta-rs's.
    """

    uri: str
    ranges: Sequence[OffsetRange]
    options: Mapping[str, str] | None = field(default=None, repr=False)

    @staticmethod
    def of(uri: str, ranges: Iterable[OffsetRange]) -> "Extract":
        """With the options of this process."""
        return Extract(uri, tuple(ranges), storage_options())

    def shares(self, table: DeltaTable, parts: int, least: int) -> list[list[Split]]:
        """The files that may have such records, in equal shares for at most so many readers.

        Each gets neighbours, and not much less than `least` bytes.
        """
        sizes = {file: sum(map(file.bytes_of, self.ranges)) for file in files(table)}
        wanted = [file for file, size in sizes.items() if size]
        wanted.sort(key=lambda file: (file.first_topic or "", file.begin or 0, file.path))
        total = sum(sizes[file] for file in wanted)
        count = min(parts, int(total / least) + 1)
        found: list[list[Split]] = [[] for _ in range(count)]
        place = 0.0  # in shares
        for file in wanted:
            begin, place = place, place + sizes[file] / total * count
            for number in range(int(begin), min(count, int(place) + 1)):
                cut = (
                    min(1.0, max(0.0, (n - begin) / (place - begin))) for n in (number, number + 1)
                )
                start, end = (round(file.size * part) for part in cut)
                if start < end:
                    found[number].append(Split(file.path, start, end))
        return [share for share in found if share]

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The records of a split, in the order in which they lie, by 16 MB or so at once.

        One that Kafka has no time of has the first of all times. Raises `Transient` where the file
        is missing or no Parquet.
        """
        path, options = unquote(split.path), None if self.options is None else dict(self.options)
        with explained(self.uri):
            try:
                store = PyFileSystem(DeltaStorageHandler(self.uri, options))
                with store.open_input_file(path) as file:
                    yield from self._read(pq.ParquetFile(file), split)
            except (FileNotFoundError, pa.ArrowInvalid) as error:
                first_line = str(error).splitlines()[0]
                raise Transient(
                    f"Delta table {self.uri}: its file {path} cannot be read ({first_line}): "
                    "restore it, and the next attempt goes on"
                ) from error

    def _read(self, file: pq.ParquetFile, split: Split) -> Iterator[pa.RecordBatch]:
        there = set(file.schema_arrow.names)
        names = [name for name in _SCHEMA.names if name in there]
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            if not split.start <= _middle(group) < split.end:
                continue
            own = [of for of in self.ranges if _may_hold(of, *_bounds(group))]
            if own:
                mean = max(1, group.total_byte_size // max(1, group.num_rows))
                at_once = max(1, min(_AT_ONCE, _LONG // mean))
                # A task of Spark's has one processor; the others are other tasks'.
                for rows in file.iter_batches(at_once, [number], names, use_threads=False):
                    found = _plain(rows).filter(_within(rows, own))
                    if found.num_rows:
                        yield found


def _middle(group: pq.RowGroupMetaData) -> int:
    """Where the middle of a group of rows is in its file."""
    first = group.column(0)
    places: list[int | None] = [first.dictionary_page_offset, first.data_page_offset]
    sizes: list[int] = [group.column(n).total_compressed_size for n in range(group.num_columns)]
    return min(place for place in places if place) + sum(sizes) // 2


def _bounds(group: pq.RowGroupMetaData) -> tuple[Any, Any, Any, Any]:
    """The least and the greatest topic and offset, None where nobody wrote them."""
    found: dict[str, tuple[Any, Any]] = {}
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema in {"topic", "offset"}:
            of = column.statistics
            known = of is not None and of.has_min_max
            found[column.path_in_schema] = (of.min, of.max) if known else (None, None)
    return *found.get("topic", (None, None)), *found.get("offset", (None, None))


def _within(rows: pa.RecordBatch, ranges: Iterable[OffsetRange]) -> pa.Array:
    """Which of the rows lie in one of the ranges."""
    return reduce(pc.or_, (_inside(rows, of) for of in ranges))


def _inside(rows: pa.RecordBatch, of: OffsetRange) -> pa.Array:
    conditions = (
        pc.equal(rows["topic"], of.topic),
        pc.equal(rows["topic_id"], of.topic_id),
        pc.equal(rows["partition"], of.partition),
        pc.greater_equal(rows["offset"], of.start),
        pc.less(rows["offset"], of.end),
    )
    return reduce(pc.and_, conditions)


def _plain(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows in the columns and types of records; a column that the file has not is null."""
    there = set(rows.schema.names)
    columns = [
        rows[of.name].cast(of.type) if of.name in there else pa.nulls(rows.num_rows, of.type)
        for of in _SCHEMA
    ]
    place = _SCHEMA.get_field_index("timestamp")
    columns[place] = pc.fill_null(columns[place], _EPOCH)
    return pa.record_batch(columns, schema=_SCHEMA)
