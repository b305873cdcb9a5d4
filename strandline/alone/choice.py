"""Which tables of a run go alone: those of which little arrived, and little is on record.

What is large takes many tasks to be quick, and more memory than one has: a record takes a few
kilobytes of Python's memory besides its bytes. The figures are chosen for that; at which of them
Spark would be quicker has not been measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from strandline.alone.stores import noted
from strandline.alone.stores.landing_files import LandingFile, files
from strandline.alone.stores.tables import opened
from strandline.errors import BeyondAloneError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange, TableCut, Work
from strandline.runs.way import Way, forced

MOST_ARRIVED = 50_000  # offsets, each of a record or of none
MOST_ON_RECORD = 200_000  # records: all of them are read again where a column's type widens, say
MOST_BYTES = 32 << 20  # of files that hold what arrived, which are compressed


@dataclass(frozen=True)
class Choice:
    """The choice for the tables of one manifest, by what it says and landing's log."""

    manifest: Manifest

    def against(self, cut: TableCut) -> str | None:
        """Why a table does not go alone; None where it does, unless `check` finds otherwise.

        What an undo goes back to was made one way, whichever is asked for now.
        """
        way, work = forced(self.manifest.way), self.manifest.work
        if way is Way.SPREAD and work is not Work.UNDO:
            return "this way is asked for"
        if way is Way.ALONE or work is not Work.COMPACT:
            return None
        if cut.offsets > MOST_ARRIVED:
            return f"{cut.offsets:,} offsets arrived, more than {MOST_ARRIVED:,}"
        arrived = sum(self._bytes(each) for each in cut.ranges)
        if arrived > MOST_BYTES:
            return f"{arrived:,.0f} bytes arrived, more than {MOST_BYTES:,}"
        return None

    def _bytes(self, of: OffsetRange) -> float:
        """About how much of landing's files the range is: its share of each by offsets."""
        return sum(file.bytes_of(of) for file in self._landing)

    @cached_property
    def _landing(self) -> Sequence[LandingFile]:
        lake = SourceLake(self.manifest.lake, self.manifest.source)
        table = opened(lake.landing, self.manifest.landing_version)
        return () if table is None else files(table)


def check(manifest: Manifest, cut: TableCut) -> None:
    """Raises `BeyondAloneError` where the table's own log says that it is not to go alone.

    To undo finds out for itself, by what there was before.
    """
    if manifest.work is Work.UNDO:
        return
    lake = SourceLake(manifest.lake, manifest.source)
    if forced(manifest.way) is not Way.ALONE:
        known = max(map(_count, (lake.records(cut.table), lake.changes(cut.table))))
        if known > MOST_ON_RECORD:
            raise BeyondAloneError(
                f"{cut.topic}: {known:,} records are on record, more than {MOST_ON_RECORD:,}"
            )
    if manifest.work is not Work.COMPACT:
        stored = opened(lake.history(cut.table))
        last = None if stored is None else noted.last(stored)
        if last is not None and last.way is Way.SPREAD:
            raise BeyondAloneError(f"{cut.topic}: a release before has made its history with Spark")


def _count(uri: str) -> int:
    """How many rows a table has, at least."""
    table = opened(uri)
    return 0 if table is None else sum(file.records or 0 for file in files(table))
