"""The records of one topic on record: what each is, and the facts that they tell.

Records that name no table (tombstones, and what is in quarantine) are read by what the others say:
where that changes, they are read once more. So are all, where the schema history does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from strandline.cells import widening
from strandline.cells.types import ColumnType
from strandline.changes import scope
from strandline.changes.change import Change, Control, Fence, Op, Quarantined
from strandline.changes.record import Coordinates, Record
from strandline.law.decode.general import Decoded, Decoder, Kin, Outcome
from strandline.law.facts import NONE, Facts, Place, merged
from strandline.law.group import in_flight


@dataclass(slots=True)
class Records:
    """What has been decoded of a topic, and which keys the last records touched.

    `decoder` knows what is known of nameless records; `rows` are the changes, `refused` the records
    in quarantine, by where they lie; `nameless` the records that say nothing of their table.
    `corrections` are rows too, for which no record was landed.
    """

    decoder: Decoder
    facts: Facts = NONE
    landed: dict[Coordinates, Record] = field(default_factory=dict)
    rows: dict[Coordinates, Decoded] = field(default_factory=dict)
    refused: dict[Coordinates, Quarantined] = field(default_factory=dict)
    nameless: dict[Coordinates, Record] = field(default_factory=dict)
    corrections: dict[Coordinates, Decoded] = field(default_factory=dict)

    def add(self, records: Iterable[Record]) -> set[str]:
        """Takes up records that were not here before; the keys that they touch."""
        new = {record.at: record for record in records if record.at not in self.landed}
        self.landed.update(new)
        return self._decoded(new.values())

    def correct(self, changes: Iterable[Change]) -> set[str]:
        """Takes up changes that no record has told; the keys that they touch."""
        new = {change.at: Decoded(change, {}) for change in changes}
        self.corrections.update(new)
        self.rows.update(new)
        return {row.change.key for row in new.values()}

    def anew(self, decoder: Decoder) -> set[str]:
        """Reads all records once more, in the light of another schema history."""
        touched = set(self.named())
        self.decoder, self.facts = decoder, NONE
        for known in (self.rows, self.refused, self.nameless):
            known.clear()
        self.rows.update(self.corrections)
        return touched | self._decoded(self.landed.values())

    def named(self) -> Iterable[str]:
        """The keys of all records that have one."""
        yield from (row.change.key for row in self.rows.values())
        yield from (each.key for each in self.refused.values() if each.key is not None)

    def _decoded(self, records: Iterable[Record]) -> set[str]:
        found = []
        for record in records:
            outcome = self.decoder.decode(record)
            if _is_nameless(outcome):
                self.nameless[record.at] = record
            else:
                self._take(record.at, outcome)
            found.append(outcome)
        self.facts += facts_of(found)
        touched = {of for of in map(_key, map(self._of, (r.at for r in records))) if of}
        return touched | self._named(records)

    def _named(self, records: Iterable[Record]) -> set[str]:
        """Reads those that name no table; all of them, where more is known of it than before."""
        kin = Kin(self.facts.scopes, written_alike(self.facts))
        wanted: Iterable[Record] = records
        if kin != self.decoder.kin:
            self.decoder = replace(self.decoder, kin=kin)
            wanted = self.nameless.values()
        touched: set[str] = set()
        for record in wanted:
            if record.at not in self.nameless:
                continue
            before, outcome = self._of(record.at), self.decoder.decode(record)
            if outcome != before:
                self._take(record.at, outcome)
                touched |= {of for of in (_key(before), _key(outcome)) if of is not None}
        return touched

    def _of(self, at: Coordinates) -> Decoded | Quarantined | None:
        return self.rows.get(at) or self.refused.get(at)

    def _take(self, at: Coordinates, outcome: Outcome) -> None:
        self.rows.pop(at, None)
        self.refused.pop(at, None)
        if isinstance(outcome, Decoded):
            self.rows[at] = outcome
        elif isinstance(outcome, Quarantined):
            self.refused[at] = outcome


def _key(outcome: Outcome | None) -> str | None:
    if isinstance(outcome, Decoded):
        return outcome.change.key
    return outcome.key if isinstance(outcome, Quarantined) else None


def _is_nameless(outcome: Outcome) -> bool:
    if isinstance(outcome, Decoded):
        return outcome.change.op is Op.TOMBSTONE
    return isinstance(outcome, Quarantined)


def facts_of(outcomes: Iterable[Outcome]) -> Facts:
    """What records say by themselves."""
    changes: list[Change] = []
    fences: dict[Coordinates, Fence] = {}
    control: set[Coordinates] = set()
    unknown: set[str] = set()
    schemas = _Schemas()
    for outcome in outcomes:
        match outcome:
            case Decoded(change=change):
                if change.op is not Op.TOMBSTONE:
                    changes.append(change)
                    schemas.add(outcome)
            case Fence():
                fences[outcome.at] = outcome
            case Control():
                control.add(outcome.at)
            case Quarantined():
                unknown.update(outcome.schemas)
    streamed: list[Change | Fence] = [*changes, *fences.values()]
    return schemas.facts + Facts(
        fences=fences,
        control=frozenset(control),
        unknown=frozenset(unknown),
        scopes=frozenset(scope.table(c.scope) for c in changes if c.scope is not None),
        reads=in_flight.reads(changes),
        open=in_flight.open_transactions(streamed, ()),
    )


@dataclass(slots=True)
class _Schemas:
    """What rows say of their columns: alike rows have one entry, with the first of their places."""

    known: list[tuple[Decoded, tuple[int, int]]] = field(default_factory=list)

    def add(self, row: Decoded) -> None:
        place = row.change.at.partition, row.change.at.offset
        for n, (other, first) in enumerate(self.known):
            if _same_schema(row, other):
                if place < first:
                    self.known[n] = row, place
                return
        self.known.append((row, place))

    @property
    def facts(self) -> Facts:
        return merged(_of_schema(row) for row, _ in self.known)


def _same_schema(one: Decoded, other: Decoded) -> bool:
    return (
        one.connector == other.connector
        and one.described == other.described
        and (one.columns is other.columns or _items(one.columns) == _items(other.columns))
        and _items(one.inferred) == _items(other.inferred)
    )


def _items(types: Mapping[str, ColumnType]) -> list[tuple[str, ColumnType]]:
    return list(types.items())


def _of_schema(row: Decoded) -> Facts:
    at = row.change.at
    return Facts(
        declared=_placed(row.columns, at),
        inferred=_placed(row.inferred, at),
        described=_placed(row.columns if row.described else {}, at),
        connectors={} if row.connector is None else {row.connector: (at.partition, at.offset, 0)},
    )


def _placed(types: Mapping[str, ColumnType], at: Coordinates) -> dict[str, dict[ColumnType, Place]]:
    return {name: {of: (at.partition, at.offset, n)} for n, (name, of) in enumerate(types.items())}


def written_alike(facts: Facts) -> dict[str, ColumnType]:
    """The types of columns that embedded schemas describe, where all write them in one way."""
    found = {
        name: widening.written_alike(sorted(types, key=types.__getitem__))
        for name, types in facts.described.items()
    }
    return {name: of for name, of in found.items() if of is not None}
