"""Rows of plain keys that pass by, sorted by key and position: what is held is what is in hand.

However many changes a key has, its closed versions leave with the batch in which they were closed;
of the rest only what stands goes on to the next batch.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from strandline.cells.types import ColumnType
from strandline.connectors import Connector
from strandline.law.decode.typed import Typed
from strandline.law.landed import Landed
from strandline.law.plain.fold import Fences, Made, Standing, fold
from strandline.law.plain.rows import Rows
from strandline.law.versions import as_columns


class NotPlainError(ValueError):
    """A key has something to be found out about it, so that it cannot pass by."""


def passing(
    batches: Iterable[Landed],
    typed: Typed,
    columns: Mapping[str, ColumnType],
    fences: Fences,
    connector: Connector,
) -> Iterator[tuple[dict[str, list[Any]], dict[str, list[Any]]]]:
    """The versions of landed records, batch after batch, as columns.

    The records are sorted by key and position; every column makes versions. Raises `NotPlainError`
    where a key is not plain (`strandline.law.plain.fold`).
    """
    standing: dict[str, Standing] = {}
    rows = Rows(reads_last=connector.reads_last)
    for landed in batches:
        rows = rows.only([of.open[0] for of in standing.values() if of.open is not None])
        standing = {key: _alone(of) for key, of in standing.items()}
        new = _taken_up(landed, typed, rows)
        rows.align(columns, typed.shapes, list(columns))
        keys = [(key, list(own)) for key, own in groupby(new, key=rows.key.__getitem__)]
        found, others = fold(keys, rows, standing, fences, connector)
        if others:
            raise NotPlainError(f"the key {others[0]} cannot pass by")
        standing |= found
        last = next(reversed(standing), None)
        yield as_columns(_complete(standing, last), rows, tuple(columns), {})
        standing = {key: of for key, of in standing.items() if key == last}
    left = {key: replace(of, versions=[]) for key, of in standing.items()}
    yield as_columns(_complete(left, None), rows, tuple(columns), {})


def _taken_up(landed: Landed, typed: Typed, rows: Rows) -> range:
    """Reads a batch; tombstones add nothing to the deletes before them, which their sort has."""
    read, left = typed.read(landed.key, landed.value, landed.timestamp, landed.headers)
    for n in left:
        if landed.value[n] is not None:
            raise NotPlainError(f"record {landed.partition[n]}:{landed.offset[n]} cannot pass by")
    if read.moved:
        raise NotPlainError("rows that move to another key cannot pass by")
    return rows.add(read, landed, range(len(landed)))


def _alone(of: Standing) -> Standing:
    """What stands, without the versions that have left; its row is the first of the next batch."""
    return replace(of, versions=[], open=None if of.open is None else (0, *of.open[1:]))


def _complete(standing: Mapping[str, Standing], last: str | None) -> Iterator[tuple[str, Made]]:
    """The versions that will not change: of all keys but the last one also those that are open."""
    for key, of in standing.items():
        yield from ((key, made) for made in of.versions)
        if of.open is not None and key != last:
            yield key, of.open
