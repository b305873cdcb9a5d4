"""The receipt: what a compaction run did, table by table. JSON that comes back from Spark."""

import json
import logging
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from strandline.runs.manifest import Work
from strandline.runs.rebuild import STORES
from strandline.runs.way import Way

FORMAT = 1

_REBUILDING = frozenset({Work.REPLAY, Work.UNDO})  # they note the versions of stores in `did`


@dataclass(frozen=True, slots=True)
class Counts:
    """Law 6 of one table and run: landed = changes + duplicates + control + quarantined.

    `history_rows` and `current_rows` are the table's totals after the run, `rows_written` the
    versions that the run added or changed, `rows_closed` how many more versions have ended than
    before it, those included that it began as well.
    """

    landed: int = 0
    changes: int = 0
    duplicates: int = 0
    control: int = 0
    quarantined: int = 0
    rows_written: int = 0
    rows_closed: int = 0
    history_rows: int = 0
    current_rows: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """The sum, number by number."""
        return self._with(other, operator.add)

    def __sub__(self, other: "Counts") -> "Counts":
        """The difference, number by number."""
        return self._with(other, operator.sub)

    def _with(self, other: "Counts", of: Callable[[int, int], int]) -> "Counts":
        names = (each.name for each in fields(Counts))
        return Counts(**{name: of(getattr(self, name), getattr(other, name)) for name in names})

    @property
    def ended(self) -> int:
        """How many versions of the history have ended."""
        return self.history_rows - self.current_rows

    @property
    def conserved(self) -> bool:
        """True where nothing vanished (law 6)."""
        return self.landed == self.changes + self.duplicates + self.control + self.quarantined


@dataclass(frozen=True, slots=True)
class TableReceipt:
    """What became of one table, and which `way` it went.

    `error` is None where the run's work was done on the table, else what was wrong and what to do.
    What a compaction failed on keeps its records for the next one. `history_version` is the Delta
    version after the run, -1 where the table has no history yet, or has the one that it had before
    a run that failed on it. `changed` is False where no row changed. `did` counts what else the
    run's work did, in words. `regress`: where positions went back, and were taken as they are.
    """

    table: str
    topic: str
    counts: Counts
    history_version: int = -1
    changed: bool = False
    seconds: float = 0.0
    orphaned_moves: int = 0
    error: str | None = None
    regress: str | None = None
    transient: bool = False
    did: Mapping[str, int] = field(default_factory=dict)
    way: Way | None = None

    def summary(self, work: Work) -> str:
        """What a run with that work did to the table, in a line for logs."""
        if self.error is not None:
            return f"{'held' if work is Work.COMPACT else 'not done'}: {self.error}"
        counts = {name: count for name, count in asdict(self.counts).items() if count}
        counted: Mapping[str, int] = counts if work is Work.COMPACT else self.did
        if work in _REBUILDING:
            counted = {name: count for name, count in counted.items() if name not in STORES}
        if work is Work.MAINTAIN and not any(counted.values()):
            return f"nothing to do; {self.seconds:.1f} s"
        told = (f"{name.replace('_', ' ')} {count:,}" for name, count in counted.items())
        return f"{', '.join(told) or 'done'}; {self.seconds:.1f} s"

    def tell(self, log: logging.Logger, work: Work) -> None:
        """Says it to a log, as an error where it was not done."""
        level = logging.INFO if self.error is None else logging.ERROR
        log.log(level, "%s: %s", self.table, self.summary(work))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one run did. `control` counts records of topics without rows.

    `stores` is what became of the source's tables that are no histories, where the work is on them;
    their `topic` is "".
    """

    source: str
    number: int
    tables: tuple[TableReceipt, ...]
    control: int = 0
    seconds: float = 0.0
    stores: tuple[TableReceipt, ...] = ()

    def to_json(self) -> str:
        """The receipt as JSON text."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> "Receipt":
        """The receipt that `to_json` wrote; ValueError where another format wrote it."""
        told = json.loads(text)
        if told.pop("format", None) != FORMAT:
            raise ValueError(f"not a receipt of format {FORMAT}")
        tables = _tables(told.pop("tables"))
        return Receipt(tables=tables, stores=_tables(told.pop("stores", ())), **told)


def _tables(items: Iterable[dict[str, Any]]) -> tuple[TableReceipt, ...]:
    return tuple(TableReceipt(counts=Counts(**table.pop("counts")), **table) for table in items)
