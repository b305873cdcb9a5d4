"""How tables are rebuilt from landing: the `order` of such a manifest."""

from collections.abc import Mapping
from dataclasses import dataclass, field

STORES = ("history", "records", "changes", "deleted_keys", "moves", "quarantine")


@dataclass(frozen=True, slots=True)
class Rebuild:
    """`before` has the version of each store of each table, to compare with and to go back to.

    Stores are named as in `STORES`; -1 is one that is not there. `swap` puts what was built in
    their place, else it only lies beside them. `undo` is the number of a run that swapped, to be
    taken back.
    """

    before: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    swap: bool = False
    undo: int | None = None
