"""Part of stage 4: key moves that no header announces.

SQL Server reports an update of a primary key as a delete and a create with equal commit and change
LSN (docs/facts/positions.md). Several pairs at one LSN are a set-based update whose halves cannot
be told apart: no lineage is better than a false one (docs/facts/questions.md, A6).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from strandline.changes.change import Change, Op
from strandline.law.facts import Half

# The keys of a row before and after a move, by the place that its two halves share.
Moves = Mapping[str, tuple[str, str]]


def halves(changes: Iterable[Change]) -> Mapping[str, frozenset[Half]]:
    """The deletes and creates of these deliveries, by their place; a repeated one is the same."""
    found: dict[str, set[Half]] = {}
    for change in changes:
        link = "" if change.position is None else change.position.link
        if change.op in {Op.DELETE, Op.CREATE} and link:  # flattened rows have no place
            found.setdefault(link, set()).add((str(change.op), change.key, _parts(change)))
    return {link: frozenset(own) for link, own in found.items()}


def _parts(change: Change) -> tuple[str | int | None, ...]:
    """The identity in what a document can hold."""
    return tuple(
        each if each is None or type(each) is int else str(each) for each in change.identity
    )


def inferred(halves: Mapping[str, frozenset[Half]]) -> Moves:
    """The places of which one delete and one create are all that there is."""
    return {link: pair for link, own in halves.items() for pair in _pair(own)}


def _pair(own: frozenset[Half]) -> Iterator[tuple[str, str]]:
    keys = {op: key for op, key, _ in own}
    if len(own) == len(keys) == len({Op.DELETE, Op.CREATE}):
        old, new = keys[Op.DELETE], keys[Op.CREATE]
        if old != new:
            yield old, new


def moved(change: Change, moves: Moves) -> Change:
    """The change; a delete and a create of one place name each other's key."""
    pair = None if change.position is None else moves.get(change.position.link)
    if pair is None:
        return change
    old, new = pair
    if change.op is Op.DELETE:
        return replace(change, moved_to=new)
    return replace(change, moved_from=old) if change.op is Op.CREATE else change
