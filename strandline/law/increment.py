"""A run onto what is on record of a table, in one process: it costs what arrived.

Plain keys go on from their last versions (`strandline.law.onward`), whatever their history is long.
All others are derived from the records on record (`strandline.law.continuation`), and so are all
keys where the run has learned something that may change any of them.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from typing import Protocol

from strandline.cells.types import ColumnType
from strandline.changes.record import Record
from strandline.law import continuation, corrections
from strandline.law.continuation import (
    Announced,
    Entered,
    Entry,
    OnRecord,
    Run,
    carried,
    may_touch_any,
)
from strandline.law.facts import Facts
from strandline.law.landed import Landed
from strandline.law.onward import Piece, Runner
from strandline.law.plain.continued import Heads, Onward
from strandline.law.plain.transit import Transit
from strandline.law.shard import Known, Making, Read, Reader, is_read
from strandline.runs.receipt import Counts


class LastVersions(Protocol):
    """The last version of each key of a history, where it stands."""

    def of(self, keys: AbstractSet[str], columns: Mapping[str, ColumnType]) -> Heads | None:
        """Those of these keys; None where the history has other business columns."""


@dataclass(frozen=True, slots=True)
class _Went:
    """Keys that went on, what was read of all that arrived, and the records that are `left`."""

    onward: Onward
    facts: Facts
    entered: Sequence[Entered]
    left: Sequence[Record]

    @property
    def counts(self) -> Counts:
        changes, absorbed = sum(self.onward.changes), sum(self.onward.absorbed)
        return Counts(changes + absorbed, changes, 0, absorbed)


def run(
    making: Making, known: OnRecord, last: LastVersions, arrived: Sequence[Record], now: Announced
) -> Run:
    """Folds what arrived onto what stands, or else onto what is on record.

    Raises `Terminal` where the table has to stop.
    """
    made = making.holding
    went = None
    if known.facts is not None and known.announced == now:
        went = _gone_on(Known(making, now, known.facts), known, last, arrived)
    if went is None:
        return continuation.run(made, known, arrived, now)
    rest = continuation.run(made, known, went.left, now)
    if rest.whole or not rest.keys.isdisjoint(went.onward.keys):
        return continuation.run(made, known, arrived, now)
    return replace(
        rest,
        onward=went.onward,
        counts=went.counts + rest.counts,
        facts=carried(went.facts + rest.facts),
        entered=[*went.entered, *rest.entered],
        read={record.at for record in arrived},
    )


def _gone_on(
    before: Known, known: OnRecord, last: LastVersions, arrived: Sequence[Record]
) -> _Went | None:
    """None where no key can go on, or all of them may be other ones now."""
    connector = before.view.connector
    if connector is None or connector.infers_moves:
        return None
    if any(corrections.is_correction(record.at) for record in arrived):
        return None
    landed = Landed(before.making.topic)
    landed.add(arrived)
    read = Reader.of(before, hands_on=True).read(landed)
    now = before.with_facts(before.facts + read.facts)
    if not is_read(before.facts, now.facts):
        return None
    if may_touch_any(before.view, now.view, read.lowest):
        return None
    heads = _heads(read, now, known, last)
    if heads is None:
        return None
    return _folded(now, heads, landed, read)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The keys that may go on, and the last versions of those that have one."""

    keys: AbstractSet[str]
    heads: Heads


def _heads(read: Read, now: Known, known: OnRecord, last: LastVersions) -> _Candidates | None:
    """Keys that no other record names, and that stand in the history if there are records of them.

    None where the history has other columns.
    """
    keys = {key for key in read.keys if key is not None}
    keys -= {read.keys[n] for n in read.refused}
    keys -= {other for other in read.others if other is not None}
    heads = last.of(keys, now.view.columns)
    if heads is None:
        return None
    lone = keys.difference(heads.fields["key"]) if now.facts.unseen else set[str]()
    others = keys if now.facts.joined else set[str]()
    left = known.named(lone, others) if lone or others else set[str]()
    return _Candidates(keys - left, heads.without(left))


def _folded(now: Known, own: _Candidates, landed: Landed, read: Read) -> _Went | None:
    of = [(key, n) for n, key in enumerate(read.keys) if key is not None and key in own.keys]
    of.sort()  # records have landed in order of their places
    keys, numbers = [key for key, _ in of], [n for _, n in of]
    assert read.transit is not None  # noqa: S101 - the reader hands on
    columns = ([getattr(read.transit, each.name)[n] for n in numbers] for each in fields(Transit))
    (made,) = Runner.of(now, None).run([Piece(own.heads, Transit(*columns), keys)])
    if not made.keys:
        return None
    went = set(made.keys)
    left = [n for n, key in enumerate(read.keys) if key not in went]
    bare = went.difference(made.fields["key"])
    return _Went(
        made,
        now.facts + Facts(unseen=bool(bare)),
        [(landed.record(n), Entry(key)) for key, n in of if key in went],
        [landed.record(n) for n in left],
    )
