"""What a run changes in a history: how its versions differ from the rows that stand there."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from deltalake import DeltaTable

from strandline.alone.stores import history
from strandline.alone.stores.history import Place, Replacement
from strandline.changes.columns import IS_CURRENT, RECORDED_AT, SCOPE, SEQ_SEEN
from strandline.changes.version import Version
from strandline.law.continuation import Run
from strandline.runs.receipt import Counts

# When it was recorded is no part of a version; nor is what only Spark goes on from.
_PASSING = frozenset({RECORDED_AT, SCOPE, SEQ_SEEN})
Standing = Mapping[Place, Mapping[str, Any]]


def replacement(stored: DeltaTable | None, standing: Standing, found: Run) -> Replacement:
    """Which versions come and which go, of those that the run has looked at.

    What stands is asked of the table itself: another release, or another rule, has made it.
    """
    columns, versions = found.found.columns, found.found.versions
    heads = _heads(versions)
    places = {_place(version): version for version in versions}
    anew = stored is None or (found.whole and not history.has(stored, columns))
    made = _made(found).items()
    same = {at for at, row in made if at in standing and _is_same(standing[at], row)}
    if anew:
        come = [
            replace(version, recorded_at=standing[at][RECORDED_AT]) if at in same else version
            for at, version in places.items()
        ]
        return Replacement(columns, come, (), heads, whole=True)
    come = [version for at, version in places.items() if at not in same]
    gone = [at for at in standing if at not in same]
    return Replacement(columns, come, gone, heads, whole=False)


def compared(old: Standing, found: Run) -> dict[str, int]:
    """How many versions are in both and equal, in both and different, only in one.

    A version is known by its key and the position that it begins at.
    """
    new = _made(found)
    both = old.keys() & new.keys()
    equal = sum(_is_same(old[at], new[at]) for at in both)
    return {
        "equal": equal,
        "different": len(both) - equal,
        "only in the old": len(old) - len(both),
        "only in the new": len(new) - len(both),
    }


def _made(found: Run) -> Standing:
    """The versions as the table gives them back: a float of 32 bits is not that of the version."""
    versions = found.found.versions
    rows = history.arrow(versions, _heads(versions), history.schema(found.found.columns))
    return dict(zip(map(_place, versions), rows.to_pylist(), strict=True))


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows are one version."""
    names = {*one, *other} - _PASSING
    return all(_is_equal(one.get(name), other.get(name)) for name in names)


def _is_equal(one: object, other: object) -> bool:
    return one == other or (one != one and other != other)  # noqa: PLR0124 - what is no number


def totals(before: Counts | None, standing: Standing, found: Run) -> Mapping[str, int]:
    """How many versions the history has after the run, and how many of them are open."""
    made = found.found.counts
    if found.whole or before is None:
        return {"history_rows": made.history_rows, "current_rows": made.current_rows}
    open_ = sum(row[IS_CURRENT] for row in standing.values())
    return {
        "history_rows": before.history_rows - len(standing) + made.history_rows,
        "current_rows": before.current_rows - open_ + made.current_rows,
    }


def _heads(versions: Iterable[Version]) -> frozenset[Place]:
    """The places of the last versions of their keys, of versions in order."""
    return frozenset({version.key: _place(version) for version in versions}.values())


def _place(version: Version) -> Place:
    return version.key, version.seq_from
