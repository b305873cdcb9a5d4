"""The facts of rows that were read by type, from their columns and shapes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strandline.cells.types import ColumnType
from strandline.changes import rekeyed, scope
from strandline.changes.position import FIRST_EPOCH, before_phase
from strandline.changes.rekeyed import Identity
from strandline.law.decode.typed import Shape
from strandline.law.facts import Facts, Place
from strandline.law.plain.fold import Standing
from strandline.law.plain.rows import Rows

Declared = dict[str, dict[ColumnType, Place]]


def facts(rows: Rows, shapes: Sequence[Shape], new: range) -> Facts:
    """What these rows say by themselves."""
    part = slice(new.start, new.stop)
    numbers = rows.shape[part]
    first = {number: new.start + numbers.index(number) for number in set(numbers)}
    declared, inferred, described = Declared(), Declared(), Declared()
    connectors: dict[Any, Place] = {}
    for number, n in first.items():
        shape, where = shapes[number], (rows.partition[n], rows.offset[n])
        at: Place = (*where, 0)
        _add(declared, shape.declared, where)
        _add(inferred, shape.inferred, where)
        _add(described, shape.declared if shape.described else {}, where)
        connectors[shape.connector] = min(at, connectors.get(shape.connector, at))
    return Facts(
        declared=declared,
        inferred=inferred,
        described=described,
        scopes=frozenset(scope.table(of) for of in set(rows.scope[part]) if of is not None),
        connectors=connectors,
        reads=_reads(rows, new),
        latest=_latest(rows, shapes, new),
    )


def _add(known: Declared, types: Mapping[str, ColumnType], where: tuple[int, int]) -> None:
    for column, (name, of) in enumerate(types.items()):
        own, place = known.setdefault(name, {}), (*where, column)
        own[of] = min(place, own.get(of, place))


def _reads(rows: Rows, new: range) -> Mapping[str, int]:
    """Where reads of whole snapshots stand, and since when they were emitted."""
    reads: dict[str, int] = {}
    for n, (emitted, _) in rows.whole.items():
        if n in new and emitted is not None:
            place = before_phase(rows.seq(n))
            reads[place] = min(emitted, reads.get(place, emitted))
    return reads


def _latest(rows: Rows, shapes: Sequence[Shape], new: range) -> Mapping[Identity, str]:
    """The last place at which these rows are changed under each form of key."""
    best: dict[tuple[str | None, int], int] = {}
    part = slice(new.start, new.stop)
    kinds = list(zip(rows.scope[part], rows.shape[part], strict=True))
    if len(set(kinds)) == 1:
        majors = rows.major[part]
        best[kinds[0]] = new.stop - 1 - majors[::-1].index(max(majors))
    else:
        for n, of in zip(new, kinds, strict=True):
            if of not in best or rows.major[best[of]] <= rows.major[n]:
                best[of] = n
    found: dict[Identity, str] = {}
    for (table, shape), n in best.items():
        name = rekeyed.identity(table and scope.known(table), shapes[shape].key)
        found[name] = max(found.get(name, ""), rekeyed.place(rows.seq(n)))
    return found


def keys_standing(
    standing: Iterable[Standing], rows: Rows, shapes: Sequence[Shape]
) -> Mapping[Identity, str]:
    """Under each form of key the place of the row that stands and was changed longest ago."""
    found: dict[Identity, str] = {}
    for of in standing:
        if of.open is not None:
            table = of.scope and scope.known(of.scope)
            name = rekeyed.identity(table, shapes[rows.shape[of.open[0]]].key)
            since = rekeyed.place(f"{FIRST_EPOCH}{of.image}0{'0' * 15}")
            found[name] = min(found.get(name, since), since)
    return found
