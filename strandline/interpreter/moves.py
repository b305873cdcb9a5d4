"""Part of stage 4: key moves that no header announces.

SQL Server reports an update of a primary key as a delete and a create with equal commit and change
LSN (debezium-facts §1.3). Several pairs at one LSN are a set-based update whose halves cannot be
told apart: no lineage is better than a false one (ordering-notes §9, A6).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from strandline.changes.change import Change, Op


def inferred(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The same distinct changes; a delete and a create of one position name each other's key."""
    result = list(changes)
    halves: dict[str, list[int]] = defaultdict(list)
    for number, change in enumerate(result):
        link = "" if change.position is None else change.position.link
        if change.op in {Op.DELETE, Op.CREATE} and link:  # flattened rows have no place
            halves[link].append(number)
    for numbers in halves.values():
        found = {result[number].op: number for number in numbers}
        if len(numbers) != len(found) or len(found) != len({Op.DELETE, Op.CREATE}):
            continue
        left, came = found[Op.DELETE], found[Op.CREATE]
        if result[left].key != result[came].key:
            old, new = result[left].key, result[came].key
            result[left] = replace(result[left], moved_to=new)
            result[came] = replace(result[came], moved_from=old)
    return tuple(result)
