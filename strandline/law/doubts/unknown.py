"""Schemas that records name and nobody knows: the table waits for them, unless that is not wanted.

Its records are landed, so nothing is lost by waiting; what is read without them would be in
quarantine, and a history without these changes would be published.
"""

from collections.abc import Collection

from strandline.changes.rules import TableRules
from strandline.errors import Terminal
from strandline.formats.registry.schemas import Schemas


def check(ids: Collection[str], schemas: Schemas, rules: TableRules) -> None:
    """`Terminal` where records name schemas by these ids and their table is to wait for them."""
    if not ids or not rules.hold_unknown:
        return
    asked = sorted(each for each in ids if each in schemas.faults)
    others = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
    # A number of 4 bytes may be of two kinds: who was asked knows which.
    told = schemas.unknown(asked[:1] or sorted(ids, reverse=True)[:2])
    raise Terminal(
        f"{told}{others}. The records are landed and wait: put the schema "
        "back into the registry, or mend the connection that [registry] names; the next landing "
        "asks for it again, and the next compaction goes on. If nobody has it any more, `hold = "
        "false` in [registry] has such records go to quarantine"
    )
