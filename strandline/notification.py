"""Debezium's notifications: how a stream says that a snapshot began, and that it is complete.

The only trustworthy end of a snapshot (debezium-facts §2.7). COMPLETED names neither table nor
position: it belongs to the reads that were emitted between the STARTED before it and itself
(ordering-notes §7). Several connectors may share a topic for their notices; each notice names its
own in `additional_data.connector_name`, as its reads do in `source.name`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from strandline.connectors.connector import integer, text

_INITIAL = "Initial Snapshot"
_STARTED, _COMPLETED = "STARTED", "COMPLETED"
_ENDS = frozenset({_COMPLETED, "ABORTED", "SKIPPED"})


@dataclass(frozen=True, slots=True)
class Notice:
    """One word about a whole snapshot, at a time of the connector's clock in milliseconds.

    `connector`: the logical name (topic prefix) of the one that speaks; None where it is not said.
    """

    timestamp: int
    type: str
    connector: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete snapshot: the reads emitted in `[started, completed]`, in milliseconds.

    Those of `connector` only; where it or a read does not say whose it is, the times alone tell.
    """

    started: int
    completed: int
    connector: str | None = None


def notice(payload: Mapping[str, object]) -> Notice | None:
    """The notice in a control record; None where it says nothing about a whole snapshot."""
    if payload.get("aggregate_type") != _INITIAL:
        return None
    kind, timestamp = str(payload.get("type")), integer(payload.get("timestamp"))
    if timestamp is None or kind not in (_STARTED, *_ENDS):
        return None
    return Notice(timestamp, kind, _connector(payload))


def _connector(payload: Mapping[str, object]) -> str | None:
    told = payload.get("additional_data")
    return text(told.get("connector_name")) if isinstance(told, Mapping) else None


def completed(notices: Iterable[Notice]) -> list[Snapshot]:
    """The snapshots that were completed. ABORTED, or silence: the snapshot counts for nothing."""
    spoken: dict[str | None, set[Notice]] = defaultdict(set)
    for each in notices:
        spoken[each.connector].add(each)  # a repeated notice is the same one
    found = [snapshot for own in spoken.values() for snapshot in _completed(own)]
    return sorted(found, key=lambda s: (s.started, s.completed, s.connector or ""))


def _completed(notices: Iterable[Notice]) -> Iterator[Snapshot]:
    """Those of one connector, which takes one snapshot after the other."""
    started: int | None = None
    for each in sorted(notices, key=lambda n: (n.timestamp, n.type != _STARTED)):
        if each.type == _STARTED:
            started = each.timestamp
        elif started is not None:
            if each.type == _COMPLETED:
                yield Snapshot(started, each.timestamp, each.connector)
            started = None
