"""The reference interpreter: the law (DESIGN §1) as a person would write it down.

decode → distinct → link → fold, one module each, no state, no shortcuts: a run folds everything
that has arrived so far. The Spark engine has the same stages and must agree with it on every input.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby

from strandline import connectors
from strandline.cells import inference, naming, widening
from strandline.cells.types import ColumnType
from strandline.changes import scope
from strandline.changes.change import Change, Control, Fence, Op, Quarantined
from strandline.changes.lineage import held
from strandline.changes.record import Record
from strandline.changes.rules import TableRules
from strandline.changes.version import Version
from strandline.connectors import Connector
from strandline.errors import Terminal
from strandline.formats import notification, schema_history
from strandline.formats.notification import Snapshot
from strandline.formats.schema_history import SchemaChange, SchemaHistory
from strandline.interpreter import lineage, rekeyed
from strandline.interpreter.decode import Decoded, Decoder, Kin, Outcome
from strandline.interpreter.distinct import Distinct, distinct
from strandline.interpreter.fold import Shape, fold
from strandline.interpreter.in_flight import by_own_position
from strandline.interpreter.link import Habits, Linked, link
from strandline.interpreter.servers import mixed
from strandline.interpreter.unordered import unordered
from strandline.runs.receipt import Counts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_RULES = TableRules()

Rules = Callable[[str], TableRules]


def no_rules(topic: str) -> TableRules:
    """What is said of a table where no source file is."""
    del topic
    return _NO_RULES


@dataclass(frozen=True, slots=True)
class Stages:
    """What each stage handed to the next, for those who explain a history.

    `changes` and `fences` are all deliveries, `found` the first ones. `decoder` is that of the
    topic, `shape` what the fold compared by.
    """

    decoder: Decoder
    changes: Sequence[Change]
    fences: Sequence[Fence]
    found: Distinct
    linked: Linked
    shape: Shape


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What the records of one topic came to. `columns` are the business columns in their order.

    `error`: why the table stopped, and what to do; it has no versions, counts and stages then.
    `regress`: where positions went back, or do not compare, and were taken as they are.
    """

    topic: str
    columns: dict[str, ColumnType]
    versions: list[Version]
    counts: Counts
    orphaned_moves: int = 0
    error: str | None = None
    regress: str | None = None
    stages: Stages | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Histories:
    """The histories of a stream, the records that could not be read, and law 6 over all of it."""

    tables: list[TableHistory]
    quarantined: list[Quarantined]
    counts: Counts


@dataclass(slots=True)
class _Table:
    """What has been decoded of one topic; changes with the types that they declared."""

    decoder: Decoder
    types: dict[str, list[ColumnType]] = field(default_factory=dict)
    inferred: dict[str, list[ColumnType]] = field(default_factory=dict)
    changes: list[tuple[Change, Mapping[str, ColumnType]]] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)
    connector: Connector | None = None
    control: int = 0
    refused: list[Quarantined] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        match outcome:
            case Decoded(change, columns, inferred, connector):
                self.changes.append((change, columns))
                self.connector = self.connector or connector
                for known, found in ((self.types, columns), (self.inferred, inferred)):
                    for name, kind in found.items():
                        if kind not in known.setdefault(name, []):
                            known[name].append(kind)
            case Fence():
                self.fences.append(outcome)
            case Control():
                self.control += 1
            case Quarantined():
                self.refused.append(outcome)

    def columns(self) -> dict[str, ColumnType]:
        """The business columns: declared ones as they appeared, then inferred ones by name.

        Raises `Terminal` where a column's values have no type in common, or its name is taken.
        """
        naming.check({**self.types, **self.inferred})
        shown = {name: inference.merged(name, kinds) for name, kinds in self.inferred.items()}
        texts = self._texts()
        columns = {
            name: widening.common(name, [*kinds, *([shown[name]] if name in shown else [])], texts)
            for name, kinds in self.types.items()
        }
        return columns | {name: shown[name] for name in sorted(shown.keys() - columns.keys())}

    def _texts(self) -> frozenset[str]:
        """The columns that the contract wants as texts; how keys are spelled, their schemas say."""
        wanted = self.decoder.rules.texts
        return wanted.difference(*(json.loads(change.key) for change, _ in self.changes if wanted))


def interpret(
    records: Iterable[Record],
    connector: Connector | None = None,
    recorded_at: datetime = _EPOCH,
    rules: Rules = no_rules,
) -> Histories:
    """Folds records, in any order that Kafka can produce, into the histories of their tables.

    `connector` None: the one that the records name. `rules`: those of a topic's table. A record
    that was landed twice (same coordinates) counts once.
    """
    landed = {
        record.at: record
        for record in sorted(records, key=lambda r: (r.at.topic, r.at.partition, r.at.offset))
    }
    told = _told(landed.values(), connector, rules)
    tables: dict[str, _Table] = {}
    quarantined = []
    for topic, of in groupby(landed.values(), key=lambda record: record.at.topic):
        decoder = Decoder(connector, rules(topic), told.history)
        decoder, outcomes = _decoded(decoder, list(of))
        tables[topic] = _Table(decoder)
        for outcome in outcomes:
            if isinstance(outcome, Quarantined):
                quarantined.append(outcome)
            tables[topic].add(outcome)
    histories = [
        _history(topic, tables[topic], told, rules(topic), recorded_at) for topic in sorted(tables)
    ]
    return Histories(
        tables=[history for history in histories if history.counts.changes or history.error],
        quarantined=sorted(quarantined, key=lambda q: (q.at.topic, q.at.partition, q.at.offset)),
        counts=total(history.counts for history in histories),
    )


def _decoded(decoder: Decoder, records: Sequence[Record]) -> tuple[Decoder, Sequence[Outcome]]:
    """What a topic's records are; those that name no table are read by what the others say."""
    alone = [decoder.decode(record) for record in records]
    informed = replace(decoder, kin=_kin(alone))
    together = [
        informed.decode(record) if _is_nameless(outcome) else outcome
        for record, outcome in zip(records, alone, strict=True)
    ]
    return informed, together


def _is_nameless(outcome: Outcome) -> bool:
    if isinstance(outcome, Decoded):
        return outcome.change.op is Op.TOMBSTONE
    return isinstance(outcome, Quarantined)


def _kin(outcomes: Iterable[Outcome]) -> Kin:
    scopes: set[str] = set()
    declared: dict[str, dict[ColumnType, None]] = {}
    for outcome in outcomes:
        if isinstance(outcome, Decoded):
            if outcome.change.scope is not None:
                scopes.add(scope.table(outcome.change.scope))
            for name, of in outcome.columns.items() if outcome.described else ():
                declared.setdefault(name, {})[of] = None
    types = {name: widening.written_alike(of) for name, of in declared.items()}
    return Kin(frozenset(scopes), {name: of for name, of in types.items() if of is not None})


@dataclass(frozen=True, slots=True)
class _Told:
    """What a stream's control records say: the schema history, and which snapshots are complete."""

    history: SchemaHistory
    snapshots: Sequence[Snapshot]


def _told(records: Iterable[Record], connector: Connector | None, rules: Rules) -> _Told:
    notices, ddl = [], []
    for record in records:
        if not _may_tell(record):
            continue
        outcome = Decoder(connector, rules(record.at.topic)).decode(record)
        if not isinstance(outcome, Control):
            continue
        word = notification.notice(outcome.payload)
        change = schema_history.schema_change(record.at, outcome.payload, record.timestamp)
        notices += [word] if word is not None else []
        if change is not None:
            ddl.append(change)
            connector = connector or connectors.of(_source(outcome.payload))
    return _Told(_history_of(ddl, connector, rules), notification.completed(notices))


def _history_of(
    ddl: Sequence[SchemaChange], connector: Connector | None, rules: Rules
) -> SchemaHistory:
    if not ddl or connector is None:
        return SchemaHistory()
    # The lineages of the log are the source's: each of its topics knows them.
    return schema_history.history(ddl, connector, rules(ddl[0].at.topic).epoch)


def _may_tell(record: Record) -> bool:
    """A cheap look before the record is parsed twice."""
    value = record.value or b""
    return b'"aggregate_type"' in value or b'"tableChanges"' in value


def _source(payload: Mapping[str, object]) -> Mapping[str, object]:
    """Where a DDL event says it comes from; position style names it in `position`."""
    for name in ("position", "source"):
        place = payload.get(name)
        if isinstance(place, dict) and connectors.of(place) is not None:
            return place
    return {}


def _history(
    topic: str, table: _Table, told: _Told, rules: TableRules, recorded_at: datetime
) -> TableHistory:
    try:
        return _folded(topic, table, told, rules, recorded_at)
    except Terminal as error:
        return TableHistory(topic, {}, [], Counts(), error=str(error))


def _folded(
    topic: str, table: _Table, told: _Told, rules: TableRules, recorded_at: datetime
) -> TableHistory:
    columns = table.columns()
    changes, fences = by_own_position(
        (_widened(change, of, columns) for change, of in table.changes), table.fences
    )
    connector = table.connector
    habits = _habits(connector)
    found = distinct(
        changes,
        fences,
        table.refused,
        shares=connector is not None and connector.shares,
        shifts=habits.shifts,
    )
    tasks = connector is not None and connector.several_tasks
    snapshots = notification.trusted(told.snapshots, several_tasks=tasks)
    linked = link(found, snapshots if rules.sweep else (), habits)
    regress = (
        mixed(found.changes, linked.lives)
        or (unordered(found.changes) if rules.key else None)
        or lineage.regress(
            found.changes, reads_newest=connector is not None and connector.reads_newest
        )
    )
    if regress is not None and rules.hold_regress:
        raise held(regress)
    rekeyed.check(changes, (life for stays in linked.lives.values() for life in stays))
    shape = _shape(columns, rules)
    versions = fold(linked, shape, recorded_at)
    control = table.control + found.absorbed
    applied = len(found.changes) + len(found.fences)
    return TableHistory(
        topic,
        columns,
        versions,
        Counts(
            landed=applied + found.duplicates + control + len(table.refused),
            changes=applied,
            duplicates=found.duplicates,
            control=control,
            quarantined=len(table.refused),
            rows_written=len(versions),
            history_rows=len(versions),
            current_rows=sum(version.seq_to is None for version in versions),
        ),
        linked.orphans,
        regress=regress,
        stages=Stages(table.decoder, changes, fences, found, linked, shape),
    )


def _habits(connector: Connector | None) -> Habits:
    if connector is None:
        return Habits()
    return Habits(
        connector.shifts,
        connector.reads_last,
        connector.infers_moves,
        connector.full_before,
        connector.shares_fences,
    )


def _shape(columns: Mapping[str, ColumnType], rules: TableRules) -> Shape:
    names = tuple(columns)
    json = frozenset(name for name, of in columns.items() if of.is_json)
    return Shape(names, rules.tracked(names), json)


def _widened(
    change: Change, declared: Mapping[str, ColumnType], columns: Mapping[str, ColumnType]
) -> Change:
    if change.row is None:
        return change
    row = {
        name: widening.widen(value, declared.get(name), columns[name])
        for name, value in change.row.items()
        if name in columns
    }
    return replace(change, row=row)


def total(counts: Iterable[Counts]) -> Counts:
    """The sum, number by number."""
    result = Counts()
    for each in counts:
        result = replace(
            result,
            **{name: getattr(result, name) + getattr(each, name) for name in Counts.__slots__},
        )
    return result


__all__: Sequence[str] = (
    "Histories",
    "Rules",
    "Stages",
    "TableHistory",
    "interpret",
    "no_rules",
    "total",
)
