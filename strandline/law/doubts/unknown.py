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
    known = [each for each in sorted(ids) if each in schemas.faults] or sorted(ids)
    others = f" (and {len(known) - 1} more)" if len(known) > 1 else ""
    raise Terminal(
        f"{schemas.unknown(known[:1])}{others}. The records are landed and wait: put the schema "
        "back into the registry, or mend the connection that [registry] names; the next landing "
        "asks for it again, and the next compaction goes on. If nobody has it any more, `hold = "
        "false` in [registry] has such records go to quarantine"
    )
