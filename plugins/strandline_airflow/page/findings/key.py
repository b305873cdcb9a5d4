"""A key's story: its versions, and those of the keys that its rows moved from and to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable

from strandline.alone.stores import tables
from strandline.changes.columns import KEY, MOVED_FROM, MOVED_TO, SEQ_FROM
from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.standing import TableStanding
from strandline.sources.nearness import nearest
from strandline.sources.source import Source
from strandline.timelines import lookup
from strandline.timelines.timeline import Timeline, timeline
from strandline_airflow.page.findings.history import history, printed
from strandline_airflow.page.findings.refused import refused_of

SHOWN_VERSIONS = 300
_SHOWN_KEYS = 40  # of one story: a row may wander through any number
_NEAR = 1_000  # keys among which the closest to one that is not there is looked for


@dataclass(frozen=True, slots=True)
class Story:
    """The newest versions of a key and of the keys that its rows moved from and to.

    `versions` are as `strandline history` prints them; `total` counts those that there are.
    `refused` are records of the keys in quarantine.
    """

    key: str
    others: tuple[str, ...]
    timeline: Timeline
    versions: tuple[Mapping[str, Any], ...]
    total: int
    refused: int


def how_to_spell(source: Source, table: TableStanding) -> str:
    """What to write to see a key of the table."""
    stored = history(source, table)
    return f"Write a key of {table.table}, for example {_sample(stored, table)}"


def story(source: Source, table: TableStanding, key: str) -> Story:
    """The story of a key, in any spelling. Raises `SpecError` that says how one looks."""
    stored = history(source, table)
    wanted = key if _is_there(stored, key) else lookup.like(key, _sample(stored, table))
    keys, versions = _related(stored, wanted)
    refused = refused_of(SourceLake(source.lake, source.name), table.table, keys)
    if not versions:
        raise SpecError(_never_seen(stored, table, wanted, refused))
    versions.sort(key=lambda row: row[SEQ_FROM])
    shown = [printed(table.topic, row) for row in versions[-SHOWN_VERSIONS:]]
    return Story(
        key=wanted,
        others=tuple(each for each in keys if each != wanted),
        timeline=timeline(shown, list(json.loads(wanted))),
        versions=tuple(shown),
        total=len(versions),
        refused=refused,
    )


def _sample(stored: DeltaTable, table: TableStanding) -> str:
    """Some key of the table, canonical."""
    found = tables.rows(stored, "SELECT _key FROM stored LIMIT 1")
    if not found:
        raise SpecError(f"the history of {table.table} has no rows yet")
    return str(found[0][KEY])


def _is_there(stored: DeltaTable, key: str) -> bool:
    """Whether it is a key to the letter, as the page shows it, whatever the sample is like."""
    return bool(tables.rows(stored, "SELECT 1 FROM stored WHERE _key = :key LIMIT 1", key=key))


def _related(stored: DeltaTable, key: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The keys whose rows moved from or to a key, however far, and all their versions."""
    keys, fresh = [key], [key]
    versions: list[dict[str, Any]] = []
    while fresh:
        found = tables.rows(stored, "SELECT * FROM stored WHERE _key IN :keys", keys=fresh)
        versions += found
        reached = {row[way] for row in found for way in (MOVED_FROM, MOVED_TO)}
        fresh = sorted(reached - {None} - set(keys))[: _SHOWN_KEYS - len(keys)]
        keys += fresh
    return keys, versions


def _never_seen(stored: DeltaTable, table: TableStanding, key: str, refused: int) -> str:
    if refused:
        return (
            f"{table.table} has no version of {key}, but {refused:,} of its records are in "
            "quarantine: see there why they cannot be read"
        )
    sql = "SELECT DISTINCT _key FROM stored ORDER BY _key LIMIT :most"
    known = [row[KEY] for row in tables.rows(stored, sql, most=_NEAR)]
    among = "in a sample of its keys " if len(known) == _NEAR else ""
    return f"{table.table} has never seen a key {key}; {among}{nearest(key, known)}"
