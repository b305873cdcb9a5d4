"""What a publication says of a table: a row, and what the gate withholds of it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts
from strandline.runs.segment import Landed

Offsets = Mapping[str, Mapping[int, int]]  # by topic id and partition the next one to apply
_COUNTS = tuple(Counts.__dataclass_fields__)

PUBLICATIONS = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("work", pa.string(), nullable=False),
        pa.field("table", pa.string()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("history_version", pa.int64(), nullable=False),
        pa.field("changed", pa.bool_(), nullable=False),
        pa.field("applied", pa.string(), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in _COUNTS),
        pa.field("orphaned_moves", pa.int64(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("held", pa.string()),
        pa.field("planned_at", pa.string(), nullable=False),
        pa.field("landing_version", pa.int64(), nullable=False),
        pa.field("began_at", pa.string()),  # null, as what follows, in rows of older releases
        pa.field("published_at", pa.string()),
        pa.field("withheld", pa.string()),
        pa.field("released_by", pa.string()),
        pa.field("released_why", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Withheld:
    """The table as it would be published, and `why` it is not.

    `counts` are of all runs since the last publication, with the totals that there are now.
    """

    why: str
    history_version: int
    applied: Offsets
    counts: Counts
    orphaned_moves: int = 0

    def to_json(self) -> str:
        """The text that `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Withheld":
        """What `to_json` wrote."""
        fields: dict[str, Any] = json.loads(text)
        applied, counts = offsets(fields.pop("applied")), Counts(**fields.pop("counts"))
        return Withheld(applied=applied, counts=counts, **fields)


@dataclass(frozen=True, slots=True)
class Published:
    """One row. `applied` maps topic id and partition to the next offset to apply.

    `planned_at` is the time that the run was due, `began_at` and `published_at` those of the clock,
    None of runs of an older release; `seconds` is how long the work on the table took.
    `error` says why this run failed on the table. `held` says why what is landed of it waits: the
    error of the last compaction that had it in its cut, None where that applied it; or why what it
    has made of it is `withheld`. `released_by` and `released_why` say who had this published in
    spite of what is expected, and why.
    """

    number: int
    work: Work
    table: str | None
    topic: str
    planned_at: str
    landing_version: int
    applied: Mapping[str, Mapping[int, int]]
    counts: Counts = field(default_factory=Counts)
    history_version: int = -1
    changed: bool = False
    orphaned_moves: int = 0
    seconds: float = 0.0
    error: str | None = None
    held: str | None = None
    began_at: str | None = None
    published_at: str | None = None
    withheld: Withheld | None = None
    released_by: str | None = None
    released_why: str | None = None

    @property
    def reached(self) -> Offsets:
        """How far the history itself has come: as it is published, but for what is withheld."""
        return self.applied if self.withheld is None else self.withheld.applied

    @property
    def made_version(self) -> int:
        """The version of the history that goes with that."""
        return self.history_version if self.withheld is None else self.withheld.history_version

    @property
    def is_failing(self) -> bool:
        """True where the last compaction could not apply it."""
        return self.held is not None and (self.withheld is None or self.held != self.withheld.why)

    def to_row(self) -> dict[str, Any]:
        """The row as `PUBLICATIONS` has it; `applied` is JSON, the same for the same offsets."""
        row = asdict(self)
        counts = row.pop("counts")
        withheld = None if self.withheld is None else self.withheld.to_json()
        applied = json.dumps(self.applied, sort_keys=True)
        return {**row, **counts, "applied": applied, "withheld": withheld}

    def lag(self, landed: Iterable[Landed]) -> int:
        """How many offsets of the topic are landed, but not applied."""
        own = (one for one in landed if one.topic == self.topic)
        return sum(max(one.next_offset - self.next_of(one), 0) for one in own)

    def next_of(self, of: Landed) -> int:
        """The offset of a landed partition that is to be applied next."""
        return self.applied.get(of.topic_id, {}).get(of.partition, of.first_offset)

    @staticmethod
    def from_row(row: Mapping[str, Any]) -> "Published":
        """The row that `to_row` made."""
        rest = {name: value for name, value in row.items() if name not in _COUNTS}
        applied = offsets(json.loads(rest.pop("applied")))
        counts = Counts(**{name: row[name] for name in _COUNTS})
        work = Work(rest.pop("work"))
        text = rest.pop("withheld", None)  # rows of older releases have none
        withheld = None if text is None else Withheld.from_json(text)
        return Published(**rest, work=work, applied=applied, counts=counts, withheld=withheld)


def offsets(fields: Mapping[str, Mapping[str, int]]) -> dict[str, dict[int, int]]:
    """Offsets as JSON has them: its names are texts."""
    return {
        topic_id: {int(partition): offset for partition, offset in each.items()}
        for topic_id, each in fields.items()
    }
