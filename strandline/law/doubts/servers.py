"""Part of stage 4: whether rows are changed by one server only, so that positions compare.

A topic may carry the tables of several servers, if no key and no truncate is of two of them. Where
one is, one server may have taken the other's place: nobody knows without an epoch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from strandline.changes import scope
from strandline.changes.change import Change, Fence
from strandline.law.doubts.lineage import Doubt
from strandline.law.group.link import Life

_Met = tuple[int, int, str, str]  # offset and partition of a record, its scope, that of the row


def mixed(changes: Iterable[Change], lives: Mapping[str, Sequence[Life]]) -> Doubt | None:
    """Of distinct changes and their lives the first record of a row of another server."""
    first = min((*_of_keys(changes), *_of_fences(lives)), default=None)
    if first is None:
        return None
    offset, partition, own, before = first
    return offset, partition, scope.mixed(partition, offset, own, before)


def _of_keys(changes: Iterable[Change]) -> Iterator[_Met]:
    first: dict[tuple[str, str], str] = {}
    for change in sorted(changes, key=lambda c: c.at.order):
        own = change.scope
        if own is not None and scope.has_server(own):
            before = first.setdefault((change.key, scope.epoch(own)), own)
            if scope.strangers(own, before):
                yield change.at.offset, change.at.partition, own, before


def _of_fences(lives: Mapping[str, Sequence[Life]]) -> Iterator[_Met]:
    for life in (life for stays in lives.values() for life in stays):
        end, row = life.end, life.images[-1].scope
        if isinstance(end, Fence) and scope.strangers(end.scope, row):
            yield end.at.offset, end.at.partition, end.scope or "", row or ""
