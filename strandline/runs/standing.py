"""How a source and its tables stand at one moment: what waits, what is held, what was lost.

Facts only, as they can be read from what runs leave behind; `strandline.runs.watch` judges them.
Offsets count Kafka's numbers, holes of aborted transactions included.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from strandline.runs.manifest import Work
from strandline.runs.segment import Gap
from strandline.sources.table import Tolerance


class Verdict(StrEnum):
    """How a table stands, in a word; the worst comes first."""

    HELD = "held"
    LATE = "late"
    UNVERIFIED = "unverified"
    QUARANTINE = "quarantine"
    PARTED = "half a move"
    WAITING = "waiting"
    UNPUBLISHED = "not published"
    FRESH = "fresh"


@dataclass(frozen=True, slots=True)
class Loss:
    """A gap, and when it was seen."""

    gap: Gap
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class TableStanding:
    """One table.

    `run` is the last compaction that knows it (0: none yet); see `Run` for its times. `landed`
    counts offsets that are landed and not published, of which the oldest landed at `since`, or
    earlier than the landing table's log tells. `unlanded` counts those that Kafka has beyond
    `landed_to`, the sum of its partitions' next offsets, less gaps on record; it is None where
    Kafka was not asked. `held` says why what is landed was not applied, since the compaction
    that began at `held_since`. `orphans` are the halves of key moves without a partner that the
    last run which changed the table counted; the first of those that counted any, without one
    between them that counted none, began at `orphans_since`.
    """

    table: str
    topic: str
    tolerance: Tolerance
    run: int = 0
    began_at: datetime | None = None
    published_at: datetime | None = None
    history_version: int = -1
    history_rows: int = 0
    current_rows: int = 0
    landed: int = 0
    since: datetime | None = None
    landed_to: int = 0
    unlanded: int | None = None
    held: str | None = None
    held_since: datetime | None = None
    losses: tuple[Loss, ...] = ()
    quarantined: Mapping[str, int] = field(default_factory=dict)
    orphans: int = 0
    orphans_since: datetime | None = None

    @property
    def in_quarantine(self) -> int:
        """Records of the table that could not be read, for whatever reason."""
        return sum(self.quarantined.values())

    def waited(self, instant: datetime) -> timedelta:
        """How long the oldest landed change waits to be published; none where none does."""
        return timedelta() if self.since is None else max(instant - self.since, timedelta())

    def overdue(self, instant: datetime) -> bool:
        """True where it waits longer than it may."""
        return self.waited(instant) > self.tolerance.freshness

    def parted(self, instant: datetime) -> bool:
        """True where halves of moves wait for longer than a change may: a cut often parts them."""
        since = self.orphans_since
        return self.orphans > 0 and since is not None and instant - since > self.tolerance.freshness

    def verdict(self, instant: datetime) -> Verdict:
        """The worst that can be said of the table."""
        found = {
            Verdict.HELD: self.held,
            Verdict.LATE: self.overdue(instant),
            Verdict.UNVERIFIED: self.losses,
            Verdict.QUARANTINE: self.in_quarantine > self.tolerance.quarantine,
            Verdict.PARTED: self.parted(instant),
            Verdict.WAITING: self.landed,
            Verdict.UNPUBLISHED: not self.run,
        }
        return next((verdict for verdict, so in found.items() if so), Verdict.FRESH)

    def troubled(self, instant: datetime) -> bool:
        """True where somebody should look."""
        return self.verdict(instant) not in {
            Verdict.WAITING, Verdict.UNPUBLISHED, Verdict.FRESH
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """A published run, a compaction or an order.

    `began_at` is when it was planned by the clock, or was due where only that is on record.
    `seconds` lie between that and `published_at`; where that is not known, they are those of the
    table that took longest. `failed` counts the tables that it failed on.
    """

    number: int
    work: Work
    began_at: datetime
    landed: int
    rows_written: int
    quarantined: int
    seconds: float
    failed: int
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How many runs of a DAG have failed and succeeded, as far as Airflow remembers."""

    failed: int
    succeeded: int


@dataclass(frozen=True, slots=True)
class SourceStanding:
    """A source and its tables, by name.

    `runs` are the last published ones, the newest first; `landed_at` is when something was landed
    last. `silent` says why Kafka could not be asked. `ended` counts the runs of `land__SOURCE` and
    `compact__SOURCE` by `land` and `compact`; it is empty where Airflow was not asked.
    """

    source: str
    tolerance: Tolerance
    tables: tuple[TableStanding, ...]
    runs: tuple[Run, ...] = ()
    landed_at: datetime | None = None
    silent: str | None = None
    ended: Mapping[str, Ended] = field(default_factory=dict)

    @property
    def last_compaction(self) -> Run | None:
        """The newest run that applied what waited; no order does."""
        return next((run for run in self.runs if run.work is Work.COMPACT), None)
