"""Key moves between plain keys, where both halves are there: the row goes on as the same entity.

A half whose partner is missing, or whose row was never seen, is for `strandline.law.group.link`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from strandline.law.plain.fold import ENTITY, SEQ_FROM, Made, Standing


def inherit(found: dict[str, Standing], standing: Mapping[str, Standing]) -> set[str]:
    """Gives rows that moved the entity that they had; the keys between which a half is missing.

    `found` has the keys that were folded now, `standing` all others. What changes of these is put
    into `found`.
    """
    known = {**standing, **found} if any(of.moves for of in found.values()) else found
    keys = _reached((key for key, of in found.items() if of.moves), known)
    lacking = {each for key in keys for each in _lacking(key, known)}
    arrivals = sorted(
        (_version(known[key], place)[SEQ_FROM], key, place, other, link)
        for key in keys - lacking
        for (other, link), place in known[key].arrivals.items()
    )
    for _, key, place, other, link in arrivals:
        left = known[other].departures[key, link]
        if left is not None:
            *_, entity, _ = known[other].versions[left]
            found[key] = known[key] = _renamed(known[key], place, entity)
    return lacking


def _reached(keys: Iterable[str], known: Mapping[str, Standing]) -> set[str]:
    """These keys and all that their rows have moved to, and from there."""
    reached, todo = set[str](), list(keys)
    while todo:
        key = todo.pop()
        if key not in reached and key in known:
            reached.add(key)
            todo += [other for other, _ in known[key].departures]
    return reached


def _lacking(key: str, known: Mapping[str, Standing]) -> Iterable[str]:
    """The keys of moves of this one that have not both halves, of a row that was seen."""
    own = known[key]
    for (other, link), left in own.departures.items():
        partner = known.get(other)
        if left is None or partner is None or (key, link) not in partner.arrivals:
            yield from (key, other)
    for other, link in own.arrivals:
        partner = known.get(other)
        if partner is None or partner.departures.get((key, link)) is None:
            yield from (key, other)


def _version(of: Standing, place: int) -> Made:
    if place < len(of.versions):
        return of.versions[place]
    if of.open is None:
        raise ValueError("no version opened with the arrival")
    return of.open


def _renamed(of: Standing, place: int, entity: str) -> Standing:
    """The key with another entity for the stay that a version began."""
    own = _version(of, place)[ENTITY]
    versions = list(of.versions)
    while place < len(versions) and versions[place][ENTITY] == own:
        versions[place] = _with(versions[place], entity)
        place += 1
    still = of.open is not None and of.open[ENTITY] == own and place == len(versions)
    standing = _with(of.open, entity) if still and of.open is not None else of.open
    return replace(of, versions=versions, open=standing)


def _with(version: Made, entity: str) -> Made:
    return (*version[:ENTITY], entity, *version[ENTITY + 1 :])  # type: ignore[return-value]
