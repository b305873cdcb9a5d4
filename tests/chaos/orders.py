"""What is ordered at the end of a story, in turn: each kind of order that its way knows."""

import json

from chaos.records import ROWS, TABLES
from chaos.story import Befall, Story, undisturbed
from strandline.runs.way import Way

_TABLE = TABLES[ROWS]
# What the source is said to have: a row that differs, one that is new, and none of the others.
_SOURCE = [{"id": 2, "name": "A2 as it is"}, {"id": 77, "name": "never sent"}]


def told(story: Story, befall: Befall = undisturbed) -> None:
    """Orders one after the other, each from its plan to its publication."""
    snapshot = story.folder / "rows.jsonl"
    snapshot.write_text("".join(f"{json.dumps(row)}\n" for row in _SOURCE), encoding="utf-8")
    orders = [
        ("reconcile", {
            "table": _TABLE,
            "snapshot": str(snapshot),
            "as_of": "2026-11-21T00:00:00+00:00",
            "correct": True,
        }),
        ("requeue", {}),
        ("replay", {"swap": True}),
        ("erase", {"table": _TABLE, "keys": ['{"id": 1}']}),
        ("maintain", {}),
    ]  # fmt: skip
    for number, (what, given) in enumerate(orders, 20):
        if story.way is Way.ALONE and what == "reconcile":
            continue  # which only Spark does
        story.order(what, number, given, befall)
