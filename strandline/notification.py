"""Debezium's notifications: how a stream says that a snapshot began, and that it is complete.

The only trustworthy end of a snapshot (debezium-facts §2.7). COMPLETED names neither table nor
position: it belongs to the reads that were emitted between the STARTED before it and itself
(ordering-notes §7).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from strandline.connectors.connector import integer

_INITIAL = "Initial Snapshot"
_STARTED, _COMPLETED = "STARTED", "COMPLETED"
_ENDS = frozenset({_COMPLETED, "ABORTED", "SKIPPED"})


@dataclass(frozen=True, slots=True)
class Notice:
    """One word about a whole snapshot, at a time of the connector's clock in milliseconds."""

    timestamp: int
    type: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete snapshot: the reads emitted in `[started, completed]`, in milliseconds."""

    started: int
    completed: int


def notice(payload: Mapping[str, object]) -> Notice | None:
    """The notice in a control record; None where it says nothing about a whole snapshot."""
    if payload.get("aggregate_type") != _INITIAL:
        return None
    kind, timestamp = str(payload.get("type")), integer(payload.get("timestamp"))
    if timestamp is None or kind not in (_STARTED, *_ENDS):
        return None
    return Notice(timestamp, kind)


def completed(notices: Iterable[Notice]) -> list[Snapshot]:
    """The snapshots that were completed. ABORTED, or silence: the snapshot counts for nothing."""
    found: list[Snapshot] = []
    started: int | None = None
    # A repeated notice is the same one.
    for each in sorted(set(notices), key=lambda n: (n.timestamp, n.type != _STARTED)):
        if each.type == _STARTED:
            started = each.timestamp
        elif started is not None:
            if each.type == _COMPLETED:
                found.append(Snapshot(started, each.timestamp))
            started = None
    return found
