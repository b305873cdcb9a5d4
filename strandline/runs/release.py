"""What the gate withholds is published all the same, once: the `order` of such a manifest."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """Which topics' tables, who wants it, and why."""

    topics: Sequence[str]
    by: str
    why: str
