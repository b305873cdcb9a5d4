"""The reference interpreter: the law (DESIGN §1) as a person would write it down.

decode → distinct → link → fold, one module each, no state, no shortcuts: a run folds everything
that has arrived so far. The Spark engine has the same stages and must agree with it on every input.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from strandline.change import Change, Control, Fence, Quarantined
from strandline.connectors import Connector
from strandline.interpreter.decode import Decoded, Outcome, decode
from strandline.interpreter.distinct import distinct
from strandline.interpreter.fold import fold
from strandline.interpreter.link import link
from strandline.receipt import Counts
from strandline.record import Record
from strandline.types import ColumnType
from strandline.version import Version

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What the records of one topic came to. `columns` are the business columns in their order."""

    topic: str
    columns: dict[str, ColumnType]
    versions: list[Version]
    counts: Counts
    orphaned_moves: int = 0


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a stream, the records that could not be read, and law 6 over all of it."""

    tables: list[TableHistory]
    quarantined: list[Quarantined]
    counts: Counts


@dataclass(slots=True)
class _Table:
    """What has been decoded of one topic."""

    columns: dict[str, ColumnType] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)
    control: int = 0
    quarantined: int = 0

    def add(self, outcome: Outcome) -> None:
        match outcome:
            case Decoded(change, columns):
                self.changes.append(change)
                for name, kind in columns.items():
                    self.columns.setdefault(name, kind)
            case Fence():
                self.fences.append(outcome)
            case Control():
                self.control += 1
            case Quarantined():
                self.quarantined += 1


def interpret(
    records: Iterable[Record], connector: Connector | None = None, recorded_at: datetime = _EPOCH
) -> Histories:
    """Folds records, in any order that Kafka can produce, into the histories of their tables.

    A record that was landed twice (same coordinates) counts once.
    """
    landed = {record.at: record for record in records}
    tables: dict[str, _Table] = defaultdict(_Table)
    quarantined = []
    for record in landed.values():
        outcome = decode(record, connector)
        if isinstance(outcome, Quarantined):
            quarantined.append(outcome)
        tables[record.at.topic].add(outcome)
    histories = [_history(topic, tables[topic], recorded_at) for topic in sorted(tables)]
    return Histories(
        tables=[history for history in histories if history.counts.changes],
        quarantined=sorted(quarantined, key=lambda q: (q.at.topic, q.at.partition, q.at.offset)),
        counts=total(history.counts for history in histories),
    )


def _history(topic: str, table: _Table, recorded_at: datetime) -> TableHistory:
    found = distinct(table.changes, table.fences)
    linked = link(found)
    versions = fold(linked, list(table.columns), recorded_at)
    control = table.control + found.absorbed
    changes = len(found.changes) + len(found.fences)
    return TableHistory(
        topic,
        table.columns,
        versions,
        Counts(
            landed=changes + found.duplicates + control + table.quarantined,
            changes=changes,
            duplicates=found.duplicates,
            control=control,
            quarantined=table.quarantined,
            rows_written=len(versions),
            history_rows=len(versions),
            current_rows=sum(version.seq_to is None for version in versions),
        ),
        linked.orphans,
    )


def total(counts: Iterable[Counts]) -> Counts:
    """The sum, number by number."""
    result = Counts()
    for each in counts:
        result = replace(
            result,
            **{name: getattr(result, name) + getattr(each, name) for name in Counts.__slots__},
        )
    return result


__all__: Sequence[str] = ("Histories", "TableHistory", "interpret", "total")
