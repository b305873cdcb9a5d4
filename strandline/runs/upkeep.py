"""What one run of maintenance is to do, its moments pinned: the `order` of such a manifest."""

from collections.abc import Mapping
from dataclasses import dataclass, field

VERSIONS, UPDATES = "versions forgotten", "changes forgotten"  # as receipts count them


@dataclass(frozen=True, slots=True)
class Upkeep:
    """`landing` is a day, `history` and `changes` are instants (ISO-8601); None keeps everything.

    `published` has the version of each table's history that readers are told of; whatever it needs
    stays. What is no longer current stays for `keep_hours`.
    """

    keep_hours: int
    optimize: bool = True
    vacuum: bool = True
    landing: str | None = None
    history: str | None = None
    changes: str | None = None
    published: Mapping[str, int] = field(default_factory=dict)
