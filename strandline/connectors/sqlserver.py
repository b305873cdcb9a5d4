"""SQL Server (Debezium `sqlserver`).

Order: `commit_lsn`, three hexadecimal numbers; inside one commit the offset, because `change_lsn`
is not monotone in direct mode. A snapshot read carries the LSN of the last commit and comes after
its rows. Key moves come as `d` and `c` without headers: their commit and change LSN are equal.
Time: `ts_ms`, the end of the transaction; its begin in the direct mode of 3.6 and later. See
docs/facts/positions.md, "SQL Server".
"""

import re
from collections.abc import Mapping
from typing import Any

from strandline.cells.types import Dialect
from strandline.changes.position import Position
from strandline.changes.version import TimeQuality
from strandline.connectors import relational_types
from strandline.connectors.connector import Connector, Moment, release, text
from strandline.errors import UndecodableError

_LSN = re.compile(r"([0-9a-f]{1,8}):([0-9a-f]{1,8}):([0-9a-f]{1,4})")
_PLAIN = re.compile(r"[0-9a-f]{1,20}")
BEGIN_SINCE = (3, 6)


class SQLServer(Connector):
    """See the module."""

    names = ("sqlserver",)
    accepts = ("sqlserver",)
    dialect = Dialect(fraction=7)
    reads_last = True
    reads_newest = True
    infers_moves = True
    several_tasks = True
    apart = ("change_lsn",)

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return text(source.get("commit_lsn")) is not None

    def position(self, source: Mapping[str, Any]) -> Position:
        commit = str(source.get("commit_lsn") or "")
        major = _digits(commit)
        if major is None:
            raise UndecodableError("no_position", f"source.commit_lsn is {commit!r}, not an LSN")
        change = str(source.get("change_lsn") or "")
        # Databases have logs of their own: of those restored from one backup LSNs may be equal.
        link = f"{major}:{_digits(change)}:{text(source.get('db'))}"
        return Position(major, commit, link)

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        commit, change = (str(source.get(name) or "") for name in ("commit_lsn", "change_lsn"))
        return (_digits(commit), _digits(change), text(source.get("event_serial_no")))

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        if snapshot:
            return Moment.of(source, TimeQuality.SNAPSHOT)
        begin = release(source) >= BEGIN_SINCE
        return Moment.of(source, TimeQuality.BEGIN if begin else TimeQuality.COMMIT)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        return text(source.get("commit_lsn")) if text(source.get("change_lsn")) else None

    def connect_schema(self, native: Mapping[str, Any]) -> dict[str, Any] | None:
        return relational_types.sql_server(native)


def _digits(lsn: str) -> str | None:
    """The 20 digits of an LSN, whatever its case and padding; None where it is none."""
    parts = _LSN.fullmatch(lsn.lower())
    if parts is not None:
        return parts[1].zfill(8) + parts[2].zfill(8) + parts[3].zfill(4)
    return lsn.lower().zfill(20) if _PLAIN.fullmatch(lsn.lower()) else None
