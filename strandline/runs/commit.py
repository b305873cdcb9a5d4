"""A commit of a Delta table: a file of its log, which has an action in JSON on each line."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def actions(text: str) -> Iterator[Mapping[str, Any]]:
    """What the commit did.

    Statistics quote what a table holds, in which Unicode knows more line breaks than JSON lines do.
    """
    return (json.loads(line) for line in text.split("\n") if line)


def committed_at(text: str) -> float | None:
    """When it was committed, in seconds since 1970; None where it does not say."""
    infos = (action["commitInfo"] for action in actions(text) if "commitInfo" in action)
    return next((info["timestamp"] / 1000 for info in infos), None)
