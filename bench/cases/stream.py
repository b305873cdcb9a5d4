"""The changes of one table as columns: what a database did, in the order of its log.

Everything is drawn at once with numpy from a seed, so that ten million changes take seconds and
two machines make the same ones. A key is created before it is updated or deleted; when a change
*arrives* is another matter: `batch` says with which batch, and late ones come long after their
place.
"""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

CREATE, UPDATE, DELETE, TRUNCATE = range(4)
OPS = ("c", "u", "d", "t")
NOBODY = -1  # no key: of a truncate, or of a change that moves nowhere

START_US = 1_790_000_000_000_000  # 2026-09-21, the first transaction's commit
_TRANSACTION_US = 5_000
_LSN_BYTES = 128  # of log a change
ERA_BITS = 56  # of a place in the log; before the stream are as many eras as its base is repeated


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch brings: so many changes, and some things besides.

    Shares of its changes are `inserts` of new keys and `duplicates` that are delivered twice;
    `late` ones, held back from the base, come on top, as that share of them. `truncates` is a
    number.
    """

    changes: int
    inserts: float = 0.0
    late: float = 0.0
    duplicates: float = 0.0
    truncates: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a table's workload is like.

    `base` changes make the history that is there before the first batch: first one of each key, so
    that histories of any length have the same keys. All others are of keys drawn evenly from
    `keys`. The versions that they close lie before them `repeated` times more, as made elsewhere
    (`bench.cases.repeating`). `deletes` and `moves` are shares of all changes. `schemas`: whether
    the JSON embeds them. `tables` of this shape lie side by side. A transaction has `transaction`
    changes on average, and a note so many `letters` besides its words.
    """

    keys: int
    batches: tuple[Batch, ...]
    base: int = 0
    repeated: int = 0
    deletes: float = 0.02
    moves: float = 0.0
    schemas: bool = False
    partitions: int = 4
    tables: int = 1
    seed: int = 1
    transaction: int = 5
    letters: int = 0

    @property
    def sizes(self) -> list[int]:
        """The changes of the base and of each batch."""
        return [self.base, *(batch.changes for batch in self.batches)]


@dataclass(frozen=True, slots=True)
class Stream:
    """Changes in log order, a row of each array for each; batch 0 is the base.

    `before` is the log position at which the transaction before ended, `at` the change's own; both
    halves of a key move have one. `moved_to` and `moved_from` are keys or `NOBODY`. `number` is
    the change's place in the log, from which its values follow; `letters` make its note long.
    """

    key: NDArray[np.int64]
    op: NDArray[np.int8]
    batch: NDArray[np.int16]
    moved_to: NDArray[np.int64]
    moved_from: NDArray[np.int64]
    number: NDArray[np.int64]
    transaction: NDArray[np.int64]
    before: NDArray[np.int64]
    at: NDArray[np.int64]
    micros: NDArray[np.int64]
    letters: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.key)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        """The chosen rows."""
        return type(self)(*(getattr(self, each.name)[chosen] for each in fields(self)))


def stream(shape: Shape, table: int = 0) -> Stream:
    """The stream of a table of that shape; `table` sets the streams of one workload apart."""
    chance = np.random.default_rng([shape.seed, table])
    batch = np.repeat(np.arange(len(shape.sizes)), shape.sizes).astype(np.int16)
    count = len(batch)
    number = np.arange(count)
    key = chance.integers(0, shape.keys, count)
    if shape.base:
        key[: shape.base] = _each_once(chance, key[: shape.base], shape.keys)
    inserts = np.array([0.0, *(each.inserts for each in shape.batches)])
    fresh = chance.random(count) < inserts[batch]
    key[fresh] = shape.keys + number[fresh]
    truncates = _truncates(shape)
    key[truncates] = NOBODY
    op, moves = _ops(chance, key, truncates, shape)
    batch = _late(chance, batch, (op != TRUNCATE) & ~moves, shape)
    transaction = np.cumsum(chance.random(count) < 1 / shape.transaction)
    at = (shape.repeated << ERA_BITS) + (number + 1_000_000) * _LSN_BYTES
    # Where a transaction ended is where the next one's first change stands, less half a change.
    first = np.searchsorted(transaction, transaction)
    changes = Stream(
        key=key,
        op=op,
        batch=batch,
        moved_to=np.where(moves, shape.keys + count + number, NOBODY),
        moved_from=np.full(count, NOBODY),
        number=number,
        transaction=transaction + 1000,
        before=at[first] - _LSN_BYTES // 2,
        at=at,
        micros=START_US + transaction * _TRANSACTION_US,
        letters=np.full(count, shape.letters, dtype=np.int32),
    )
    return _with_arrivals(changes, moves)


def _each_once(
    chance: np.random.Generator, base: NDArray[np.int64], keys: int
) -> NDArray[np.int64]:
    """The keys of the base, of which the first ones are every key, in no order."""
    return np.concatenate([chance.permutation(keys), base[keys:]])[: len(base)]


def _truncates(shape: Shape) -> NDArray[np.int64]:
    """Where the truncates stand: spread over their batch."""
    starts = np.cumsum(shape.sizes)
    places = [
        starts[number] + batch.changes * (each + 1) // (batch.truncates + 1)
        for number, batch in enumerate(shape.batches)
        for each in range(batch.truncates)
    ]
    return np.array(places, dtype=np.int64)


def _ops(
    chance: np.random.Generator,
    key: NDArray[np.int64],
    truncates: NDArray[np.int64],
    shape: Shape,
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """What each change does, and which deletes are the first half of a key move.

    A key lives from its first change on, and anew from the one after its delete or a truncate.
    """
    order = np.argsort(key, kind="stable")
    era = np.searchsorted(truncates, order)
    begins = np.ones(len(key), dtype=bool)
    begins[1:] = (key[order][1:] != key[order][:-1]) | (era[1:] != era[:-1])
    wanted = chance.random(len(key)) < shape.deletes + shape.moves
    wanted[begins] = False
    ends = wanted.copy()
    ends[1:] &= ~wanted[:-1]  # of two in a row the second would find nothing to delete
    creates = begins.copy()
    creates[1:] |= ends[:-1]
    op = np.full(len(key), UPDATE, dtype=np.int8)
    op[order[creates]] = CREATE
    op[order[ends]] = DELETE
    op[truncates] = TRUNCATE
    total = shape.deletes + shape.moves
    moves = (op == DELETE) & (chance.random(len(key)) < (shape.moves / total if total else 0))
    return op, moves


def _late(
    chance: np.random.Generator,
    batch: NDArray[np.int16],
    movable: NDArray[np.bool_],
    shape: Shape,
) -> NDArray[np.int16]:
    """Some changes of the base arrive with a batch instead."""
    counts = [int(each.late * each.changes) for each in shape.batches]
    if not any(counts):
        return batch
    held = chance.choice(np.flatnonzero(movable[: shape.base]), sum(counts), replace=False)
    arrival = batch.copy()
    arrival[held] = np.repeat(np.arange(1, len(counts) + 1), counts)
    return arrival


def _with_arrivals(changes: Stream, moves: NDArray[np.bool_]) -> Stream:
    """Behind each first half of a key move its second: the new key is created."""
    if not moves.any():
        return changes
    both = np.repeat(np.arange(len(changes)), 1 + moves)
    doubled = changes.where(both)
    second = np.zeros(len(both), dtype=bool)
    second[1:] = both[1:] == both[:-1]
    doubled.moved_from[second] = doubled.key[second]
    doubled.key[second] = doubled.moved_to[second]
    doubled.moved_to[second] = NOBODY
    doubled.op[second] = CREATE
    return doubled
