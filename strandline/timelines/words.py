"""How timelines say to a reader what began and ended a version, and what its cells hold."""

import json
from collections.abc import Mapping

from strandline.changes.columns import CLOSED_BY, MOVED_FROM, MOVED_TO
from strandline.changes.version import ClosedBy
from strandline.timelines.timeline import Bar, Opened, Row, is_unsent, opened_by

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


def happened(row: Row) -> str:
    """The last thing that happened to the row of a version: what ended it, else what began it."""
    how = row[CLOSED_BY]
    if how is None:
        return began(row)
    return f"moved to {row[MOVED_TO]}" if how == ClosedBy.KEY_MOVE else _CLOSED[ClosedBy(str(how))]


def opening(bar: Bar) -> str:
    """What began a version."""
    return began(bar.row)


def closing(bar: Bar) -> str:
    """What ended a version; that it stands where nothing did."""
    return "stands" if bar.row[CLOSED_BY] is None else happened(bar.row)


def began(row: Row) -> str:
    """What began a version, by its row."""
    how = opened_by(row)
    return f"moved here from {row[MOVED_FROM]}" if how is Opened.KEY_MOVE else _OPENED[how]


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
