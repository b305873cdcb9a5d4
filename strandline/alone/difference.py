"""What a run changes in a history: how its versions differ from the rows that stand there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from strandline.alone.stores import history
from strandline.alone.stores.history import Place, Replacement, Standing
from strandline.changes.columns import RECORDED_AT, SCOPE, SEQ_SEEN
from strandline.changes.version import Version
from strandline.law.continuation import Run
from strandline.law.plain import heads
from strandline.runs.receipt import Counts

# When it was recorded is no part of a version; nor is what only Spark goes on from.
_PASSING = frozenset({RECORDED_AT, SCOPE, SEQ_SEEN})


def replacement(stored: DeltaTable | None, standing: Standing, found: Run) -> Replacement:
    """Which versions come and which go, of those that the run has looked at.

    What stands is asked of the table itself: another release, or another rule, has made it.
    """
    columns, versions = found.found.columns, found.found.versions
    heads = _heads(versions)
    places = {_place(version): version for version in versions}
    anew = stored is None or (found.whole and not history.has(stored, columns))
    same = _same(standing, _made(found)) - _with_seen(standing)
    if anew:
        times = standing.rows[RECORDED_AT].to_pylist() if same else []
        come = [
            replace(version, recorded_at=times[standing.places[at]]) if at in same else version
            for at, version in places.items()
        ]
        return Replacement(columns, come, (), heads, whole=True)
    come = [version for at, version in places.items() if at not in same]
    gone = [at for at in standing.places if at not in same]
    return Replacement(columns, come, gone, heads, whole=False)


def _with_seen(standing: Standing) -> frozenset[Place]:
    """The places of versions beside which it stands what their keys had seen before this run."""
    if SEQ_SEEN not in standing.rows.column_names:
        return frozenset()
    texts = standing.rows[SEQ_SEEN].to_pylist()
    return frozenset(at for at, n in standing.places.items() if heads.is_seen(texts[n]))


def compared(old: Standing, found: Run) -> dict[str, int]:
    """How many versions are in both and equal, in both and different, only in one.

    A version is known by its key and the position that it begins at. A cell of a column that is
    text on one side only is the same where its text is.
    """
    new = _made(found)
    both = len(old.places.keys() & new.places.keys())
    equal = len(_same(_told(old, new.rows.schema), _told(new, old.rows.schema)))
    return {
        "equal": equal,
        "different": both - equal,
        "only in the old": len(old.places) - both,
        "only in the new": len(new.places) - both,
    }


def _told(of: Standing, other: pa.Schema) -> Standing:
    """Those rows, with texts in the columns that are texts on the other side and not here."""
    rows = of.rows
    for place, own in enumerate(rows.schema):
        is_text = own.name in other.names and other.field(own.name).type == pa.string()
        if is_text and (pa.types.is_primitive(own.type) or pa.types.is_decimal(own.type)):
            rows = rows.set_column(place, own.name, rows[own.name].cast(pa.string()))
    return replace(of, rows=rows)


def _made(found: Run) -> Standing:
    """The versions as the table gives them back: a float of 32 bits is not that of the version."""
    versions = found.found.versions
    rows = history.arrow(versions, _heads(versions), history.schema(found.found.columns))
    return Standing(rows, {_place(version): n for n, version in enumerate(versions)})


def _same(one: Standing, other: Standing) -> frozenset[Place]:
    """The places of versions that are the same in both."""
    both = [place for place in other.places if place in one.places]
    if not both:
        return frozenset()
    a = one.rows.take([one.places[place] for place in both])
    b = other.rows.take([other.places[place] for place in both])
    names = dict.fromkeys((*a.column_names, *b.column_names))
    equal = [True] * len(both)
    for name in names.keys() - _PASSING:
        cells = _equal(_column(a, name), _column(b, name))
        equal = [so and also for so, also in zip(equal, cells, strict=True)]
    return frozenset(place for place, so in zip(both, equal, strict=True) if so)


def _column(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """A column, of nulls where there is none."""
    return rows[name] if name in rows.column_names else pa.chunked_array([pa.nulls(len(rows))])


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Sequence[bool]:
    """For each row whether its two cells are one value; what is no number is one, too."""
    if one.type != other.type or pa.types.is_nested(one.type):
        return [a == b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)]
    same = pc.fill_null(pc.equal(one, other), False)
    same = pc.or_(same, pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(other.type):
        no_number = pc.and_(pc.is_nan(one), pc.is_nan(other))
        same = pc.or_(same, pc.fill_null(no_number, False))
    return list(same.to_pylist())


def totals(before: Counts | None, standing: Standing, found: Run) -> Mapping[str, int]:
    """How many versions the history has after the run, and how many of them are open."""
    made = found.found.counts
    if found.whole or before is None:
        return {"history_rows": made.history_rows, "current_rows": made.current_rows}
    return {
        "history_rows": before.history_rows - len(standing.places) + made.history_rows,
        "current_rows": before.current_rows - standing.open + made.current_rows,
    }


def _heads(versions: Iterable[Version]) -> frozenset[Place]:
    """The places of the last versions of their keys, of versions in order."""
    return frozenset({version.key: _place(version) for version in versions}.values())


def _place(version: Version) -> Place:
    return version.key, version.seq_from
