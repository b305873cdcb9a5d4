"""Part of stage 4: changes of one keyless row that nothing orders.

Records without a key are spread over partitions, whose offsets do not compare. Inside one position
of the log a number orders them (`position.numbered`) if each has one, or the offset if all lie in
one partition. Else nobody knows, and an order that was made up would silently be wrong.
"""

from collections import defaultdict
from collections.abc import Iterable

from strandline.changes.change import Change, Op
from strandline.changes.position import is_placed, lane, major_of
from strandline.law.doubts.lineage import Doubt


def unordered(changes: Iterable[Change]) -> Doubt | None:
    """Of a keyless table's distinct changes the first that may stand before or behind another."""
    places: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in changes:
        if change.op not in {Op.READ, Op.TOMBSTONE}:
            places[change.key, major_of(change.seq)].append(change)
    found = [
        max((c.at.offset, c.at.partition) for c in group)
        for (_, major), group in places.items()
        if is_placed(major) and len({lane(c.seq) for c in group}) > 1
    ]
    return (*min(found), message(*min(found))) if found else None


def message(offset: int, partition: int) -> str:
    """What is to be said of it."""
    return (
        f"the record at offset {offset} of partition {partition} has no key and changed a row at "
        "one position with one in another partition, or with one that is numbered otherwise: "
        "nothing says which came first. Set message.key.columns of the connector to the key "
        "columns, or provide.transaction.metadata with Debezium 3.7, and read the table anew from "
        "a snapshot"
    )
