"""How timelines say to a reader what began and ended a version, and what its cells hold."""

import json
from collections.abc import Mapping

from strandline.changes.columns import CLOSED_BY, MOVED_FROM, MOVED_TO
from strandline.changes.version import ClosedBy
from strandline.timelines.timeline import Bar, Opened, Row, is_unsent

NOT_SENT = "not sent"

_OPENED = {
    Opened.SNAPSHOT: "read by a snapshot",
    Opened.CREATE: "created",
    Opened.UPDATE: "updated",
}
_CLOSED = {
    ClosedBy.UPDATE: "updated",
    ClosedBy.DELETE: "deleted",
    ClosedBy.TRUNCATE: "table truncated",
    ClosedBy.TOMBSTONE: "deleted by a lone tombstone",
    ClosedBy.SNAPSHOT_ABSENT: "absent from a complete snapshot",
    ClosedBy.SNAPSHOT_CORRECTION: "corrected by a snapshot read",
}


def opening(bar: Bar) -> str:
    """What began a version."""
    if bar.opened is Opened.KEY_MOVE:
        return f"moved here from {bar.row[MOVED_FROM]}"
    return _OPENED[bar.opened]


def closing(bar: Bar) -> str:
    """What ended a version; that it stands where nothing did."""
    how = bar.row[CLOSED_BY]
    if how is None:
        return "stands"
    return (
        f"moved to {bar.row[MOVED_TO]}" if how == ClosedBy.KEY_MOVE else _CLOSED[ClosedBy(str(how))]
    )


def spelled(row: Row, name: str) -> str:
    """A cell as SQL spells it; what the source has never sent is no NULL of the source's."""
    value = row.get(name)
    if is_unsent(row, name):
        return NOT_SENT
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case list() | Mapping():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
