"""Which keys hang together: rows were moved between them, as history and records tell."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import TypeVar

from strandline.alone.stores.tables import opened, rows

Key = TypeVar("Key", bound=Hashable)

_VERSIONS = (
    "SELECT _key AS one, _moved_from AS other FROM stored WHERE _moved_from IS NOT NULL"
    " UNION ALL SELECT _key, _moved_to FROM stored WHERE _moved_to IS NOT NULL"
)
_ENTRIES = (
    "SELECT entry_key AS one, entry_other AS other FROM stored"
    " WHERE entry_key IS NOT NULL AND entry_other IS NOT NULL"
)
_HALVES = "SELECT DISTINCT entry_link, entry_key FROM stored WHERE entry_link IS NOT NULL"


def edges(history: str, records: str) -> Iterator[tuple[str, str]]:
    """Pairs of keys that a row was moved between, by a table's history and what is on record."""
    for path, sql in ((history, _VERSIONS), (records, _ENTRIES)):
        stored = opened(path)
        for row in [] if stored is None else rows(stored, sql):
            yield row["one"], row["other"]
    stored = opened(records)
    halves: defaultdict[str, list[str]] = defaultdict(list)
    for row in [] if stored is None else rows(stored, _HALVES):
        halves[row["entry_link"]].append(row["entry_key"])
    for keys in halves.values():
        if len(keys) == 2:  # of more nobody knows which two are the halves of one move
            yield keys[0], keys[1]


def related(pairs: Iterable[tuple[Key, Key]], wanted: AbstractSet[Key]) -> set[Key]:
    """The wanted ones, and all that pairs lead to from them, however far."""
    others: defaultdict[Key, set[Key]] = defaultdict(set)
    for one, other in pairs:
        others[one].add(other)
        others[other].add(one)
    found, frontier = set(wanted), set(wanted)
    while frontier:
        frontier = set().union(*(others[each] for each in frontier)) - found
        found |= frontier
    return found
