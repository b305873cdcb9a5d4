"""Engines: what folds a capture into histories. The law is one, Spark another.

Engines are found by entry point (`strandline.engines` in pyproject.toml), so the core needs to know
none of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from typing import Protocol

from strandline.changes.change import Quarantined
from strandline.changes.record import Record
from strandline.connectors import CONNECTORS
from strandline.errors import SpecError
from strandline.formats.registry.schemas import NONE, Schemas
from strandline.law import Rules, in_runs, no_rules
from strandline.runs.receipt import Counts
from strandline.sources.source import Source

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """History rows as (topic, cells), ordered by topic, key and position; quarantine; law 6.

    `stopped` has the topics whose tables could not go on, and why; `doubtful` those whose history
    may be wrong, and when it is.
    """

    rows: Iterable[tuple[str, Mapping[str, object]]]
    quarantined: Sequence[Quarantined]
    counts: Counts
    stopped: Sequence[tuple[str, str]] = ()
    doubtful: Sequence[tuple[str, str]] = ()


class Engine(Protocol):
    """Folds records, cut into that many runs. `source` None: the records say it all.

    `schemas` are those that records may name.
    """

    def __call__(
        self,
        records: Sequence[Record],
        *,
        batches: int,
        source: Source | None,
        schemas: Schemas = NONE,
    ) -> Outcome: ...


def python(
    records: Sequence[Record], *, batches: int, source: Source | None, schemas: Schemas = NONE
) -> Outcome:
    """The law in this process, run after run."""
    connector = CONNECTORS[source.connector] if source else None
    found = in_runs(
        cut(records, batches), connector, recorded_at(records), rules(source), schemas=schemas
    )
    rows = ((table.topic, version.cells()) for table in found.tables for version in table.versions)
    stopped = [(table.topic, table.error) for table in found.tables if table.error is not None]
    doubtful = [(table.topic, table.regress) for table in found.tables if table.regress is not None]
    return Outcome(rows, found.quarantined, found.counts, stopped, doubtful)


def rules(source: Source | None) -> Rules:
    """The rules of a capture's tables: nobody is there whom a table could be held for."""
    if source is None:
        return no_rules
    return lambda topic: replace(source.rules(topic), hold_regress=False, hold_unknown=False)


def named(name: str) -> Engine:
    """The engine of that name; `SpecError` where it is not installed."""
    if name == "python":
        return python
    found = entry_points(group="strandline.engines", name=name)
    if not found:
        raise SpecError(f"the engine '{name}' is not installed: run `make setup`")
    engine: Engine = next(iter(found)).load()
    return engine


def recorded_at(records: Iterable[Record]) -> datetime:
    """What a capture's histories record as their time: its last record's, so engines agree."""
    return _EPOCH + timedelta(milliseconds=max((r.timestamp for r in records), default=0))


def cut(records: Sequence[Record], batches: int) -> list[Sequence[Record]]:
    """The records in that many runs of nearly equal size, in order of arrival."""
    size = -(-len(records) // batches) or 1
    return [records[start : start + size] for start in range(0, len(records), size)]
