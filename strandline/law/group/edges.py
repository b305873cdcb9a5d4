"""Which keys are one group: those that moves join."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from strandline.law.decode.general import Decoded
from strandline.law.group.moves import Moves


def edges(rows: Iterable[Decoded], moves: Moves) -> Iterator[tuple[str, str]]:
    """The keys that rows have moved between."""
    for row in rows:
        change = row.change
        for other in (change.moved_to, change.moved_from):
            if other is not None:
                yield change.key, other
    yield from moves.values()


def joined(keys: Iterable[str], edges: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """The groups of keys that edges join, each in order (union-find)."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while (above := parent.get(key, key)) != key:
            parent[key] = parent.get(above, above)  # halves the way for those who come after
            key = above
        return key

    for one, other in edges:
        parent[root(one)] = root(other)
    groups: dict[str, list[str]] = defaultdict(list)
    for key in sorted(keys):
        groups[root(key)].append(key)
    yield from groups.values()
