"""The manifest: everything that one compaction run needs to know, pinned.

A manifest goes from Airflow to Spark as JSON. Every stage is a pure function of it and of the lake,
so it may be run again, by anyone, any number of times.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from strandline.changes.rules import TableRules
from strandline.runs.way import Way
from strandline.sources.expectations import Expectations

FORMAT = 2
_NAMED = 10  # tables, in a line

# The application whose transaction in the log of publications is the last published run.
PUBLICATION = "publication"


class Work(StrEnum):
    """What a run does; each has a module of its name in the Spark wing.

    But for `RELEASE`, which names no table to work on: it is done by being published.
    """

    COMPACT = "compact"
    MAINTAIN = "maintain"
    REQUEUE = "requeue"
    REPLAY = "replay"
    UNDO = "undo"
    ERASE = "erase"
    RECONCILE = "reconcile"
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets `[start, end)` of one partition of one incarnation of a topic.

    `topic_id` is Kafka's id of the incarnation (KIP-516); the topic's name where the broker has
    none. `end` is the next offset to land, so holes of aborted transactions are inside.
    """

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableCut:
    """What one table is to apply: the ranges of its topic that were landed and not yet applied."""

    table: str
    topic: str
    ranges: tuple[OffsetRange, ...]
    rules: TableRules = field(default_factory=TableRules)

    @property
    def offsets(self) -> int:
        """How many offsets its ranges span: at least as many as there are records."""
        return sum(offsets.end - offsets.start for offsets in self.ranges)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One run of one source, be it a compaction or what somebody ordered (`work`, `order`).

    `number` counts runs of the source without gaps; it is the transaction version of every commit
    that the run makes. `landing_version` pins the landing table. `control` holds the ranges of
    topics without rows. `planned_at` is the plan's time in ISO-8601 UTC: what the run records as
    `_recorded_at`, so a repetition records the same. `began_at` is when the plan was made by the
    clock, None in manifests of a release before. `order` is the work's own dataclass as fields.
    `way` is that of its tables, unless the environment names another one. `expectations` has, by
    topic, what tables have to meet before they are published. `connector` None: each record says
    which one has sent it, as those of a capture without a source file do.
    """

    source: str
    connector: str | None
    lake: str
    number: int
    planned_at: str
    landing_version: int
    tables: tuple[TableCut, ...]
    control: tuple[OffsetRange, ...] = ()
    work: Work = Work.COMPACT
    order: Mapping[str, Any] = field(default_factory=dict)
    way: Way = Way.AUTO
    schemas_version: int = -1
    began_at: str | None = None
    expectations: Mapping[str, Expectations] = field(default_factory=dict)

    @property
    def applies(self) -> bool:
        """Whether its ranges say how far the tables are applied after it.

        Those of any other work lie within what is applied already.
        """
        return self.work in {Work.COMPACT, Work.UNDO}

    @property
    def title(self) -> str:
        """The run in a line for logs; it names no more tables than somebody reads."""
        names = [cut.table for cut in self.tables]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        tables = ", ".join(names[:_NAMED]) or "control topics only"
        return f"Run {self.number} of {self.source}: {self.work} {tables}{more}"

    def to_json(self) -> str:
        """The manifest as JSON text, stable to the letter."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Manifest":
        """The manifest that `to_json` wrote; ValueError where another format wrote it."""
        fields = json.loads(text)
        if fields.pop("format", None) != FORMAT:
            raise ValueError(f"not a manifest of format {FORMAT}")
        tables = tuple(
            TableCut(
                cut["table"],
                cut["topic"],
                _ranges(cut["ranges"]),
                TableRules.from_fields(cut["rules"]),
            )
            for cut in fields.pop("tables")
        )
        work = Work(fields.pop("work", Work.COMPACT))
        way = Way(fields.pop("way", Way.AUTO))
        control = _ranges(fields.pop("control"))
        expected = {
            topic: Expectations(**each) for topic, each in fields.pop("expectations", {}).items()
        }
        return Manifest(
            tables=tables, control=control, work=work, way=way, expectations=expected, **fields
        )


def _ranges(items: list[Mapping[str, str]]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(**item) for item in items)  # type: ignore[arg-type]
