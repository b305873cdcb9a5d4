"""A case: one shape's landing table and expected histories, made once and kept on disk."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bench.cases import envelope, landed, reference
from bench.cases.columns import COLUMNS, KEY
from bench.cases.stream import Batch, Shape, stream
from strandline.changes.rules import TableRules
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut

SOURCE = "bench"
PLACE = (KEY, "valid_from")  # names a version
FORMAT = 4  # of what lies on disk; another one is made anew

_DESCRIPTION = "case.json"


@dataclass(frozen=True, slots=True)
class Case:
    """A shape on disk.

    `ends` holds the next offset by table, batch (0 is the base) and partition, `versions` the
    landing table's version after each batch.
    """

    folder: Path
    shape: Shape
    ends: dict[str, list[list[int]]]
    versions: list[int]

    @property
    def tables(self) -> list[str]:
        """The tables' names."""
        return list(self.ends)

    @property
    def landing(self) -> Path:
        """The landing table, in a lake that holds nothing else."""
        return Path(SourceLake(str(self.folder / "lake"), SOURCE).landing)

    def expected(self, table: str, batch: int) -> Path:
        """The Parquet file of a table's history after the base (0) or after the last batch."""
        return self.folder / "expected" / f"{table}-{batch}.parquet"

    def changed(self, table: str, batch: int) -> Path:
        """The Parquet file of the places (`PLACE`) of the rows that a batch makes or ends."""
        return self.folder / "changed" / f"{table}-{batch}.parquet"

    def ranges(self, table: str, batch: int) -> list[OffsetRange]:
        """The offsets that arrive with a batch."""
        ends = self.ends[table]
        starts = ends[batch - 1] if batch else [0] * self.shape.partitions
        return [
            OffsetRange(envelope.topic(table), landed.topic_id(table), partition, start, end)
            for partition, (start, end) in enumerate(zip(starts, ends[batch], strict=True))
            if start < end
        ]

    def records(self, batch: int) -> int:
        """How many records a batch has, over all tables."""
        return sum(r.end - r.start for table in self.tables for r in self.ranges(table, batch))

    def manifest(self, lake: str, batch: int) -> Manifest:
        """The manifest that applies a batch in a lake that has this case's landing table."""
        contract = () if self.shape.schemas else tuple((c.name, c.contract) for c in COLUMNS)
        cuts = (
            TableCut(
                table,
                envelope.topic(table),
                tuple(self.ranges(table, batch)),
                TableRules(columns=contract),
            )
            for table in self.tables
        )
        return Manifest(
            source=SOURCE,
            connector="postgresql",
            lake=lake,
            number=batch + bool(self.shape.base),
            planned_at=f"2026-11-20T12:{batch:02d}:00.000000+00:00",
            landing_version=self.versions[batch],
            tables=tuple(cuts),
        )


def made(shape: Shape, cases: Path) -> Case:
    """The case of a shape, made where it is not there yet."""
    folder = cases / digest(shape)
    if not (folder / _DESCRIPTION).is_file():
        shutil.rmtree(folder, ignore_errors=True)
        _make(shape, folder)
    return opened(folder)


def opened(folder: Path) -> Case:
    """The case in a folder."""
    told = json.loads((folder / _DESCRIPTION).read_text())
    batches = tuple(Batch(**batch) for batch in told["shape"].pop("batches"))
    return Case(folder, Shape(batches=batches, **told["shape"]), told["ends"], told["versions"])


def digest(shape: Shape) -> str:
    """A name that changes with the shape."""
    text = json.dumps([FORMAT, asdict(shape)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _make(shape: Shape, folder: Path) -> None:
    for part in ("expected", "changed"):
        (folder / part).mkdir(parents=True)
    tables = []
    for number, name in enumerate(names(shape)):
        changes = stream(shape, number)
        tables.append((name, changes, landed.arrival(changes, shape, number)))
    path = Path(SourceLake(str(folder / "lake"), SOURCE).landing)
    path.parent.mkdir(parents=True)
    versions = landed.land(path, tables, shape)
    ends = {name: found.ends(shape.partitions, len(shape.batches)) for name, _, found in tables}
    case = Case(folder, shape, ends, versions)
    for name, changes, _ in tables:
        for batch in (0, len(shape.batches)):
            pq.write_table(reference.history(changes, batch).table(), case.expected(name, batch))
        for batch in range(1, len(shape.batches) + 1):
            rows = reference.changed(changes, batch).table()
            pq.write_table(rows.select(PLACE), case.changed(name, batch))
    told = {"shape": asdict(shape), "ends": ends, "versions": versions}
    (folder / _DESCRIPTION).write_text(json.dumps(told))


def names(shape: Shape) -> Sequence[str]:
    """What the tables of a shape are called."""
    return [f"orders{number}" for number in range(shape.tables)]
