"""What a run changes in a history: how its versions differ from the rows that stand there."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from deltalake import DeltaTable

from strandline.alone import history
from strandline.alone.history import Place, Replacement
from strandline.changes.columns import IS_CURRENT, RECORDED_AT
from strandline.changes.version import Version
from strandline.law.continuation import Run
from strandline.runs.receipt import Counts

_PASSING = frozenset({RECORDED_AT})
Standing = Mapping[Place, Mapping[str, Any]]


def replacement(stored: DeltaTable | None, standing: Standing, found: Run) -> Replacement:
    """Which versions come and which go, of those that the run has looked at.

    What stands is asked of the table itself: another release, or another rule, has made it.
    """
    columns, versions = found.found.columns, found.found.versions
    heads = _heads(versions)
    places = {_place(version): version for version in versions}
    anew = stored is None or (found.whole and not history.has(stored, columns))
    same = {
        at
        for at, version in places.items()
        if at in standing and _is_same(standing[at], history.cells(version, heads))
    }
    if anew:
        come = [
            replace(version, recorded_at=standing[at][RECORDED_AT]) if at in same else version
            for at, version in places.items()
        ]
        return Replacement(columns, come, (), heads, whole=True)
    come = [version for at, version in places.items() if at not in same]
    gone = [at for at in standing if at not in same]
    return Replacement(columns, come, gone, heads, whole=False)


def _is_same(row: Mapping[str, Any], version: Mapping[str, Any]) -> bool:
    """Whether a row is that version; when it was recorded is no part of it."""
    names = {*row, *version} - _PASSING
    return all(row.get(name) == version.get(name) for name in names)


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
