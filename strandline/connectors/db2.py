"""Db2 (Debezium `db2`), which reads the change tables of Db2's SQL replication.

Order: `commit_lsn`, inside one commit `change_lsn`, which grows there: both are the bytes of a log
sequence number as hexadecimal digits. A snapshot read carries the last commit that was captured,
and no `change_lsn`, or where a snapshot interrupts the stream the last change that was sent: it
comes after both. A delete followed by an insert, inside one transaction, is told as an update, of
the key too (docs/facts/positions.md, "Db2"). A statement may take a key over before its row left it
(docs/facts/order.md, "Shifts inside a statement").

Time: `ts_ms`, since 3.7 the commit; before, the server's clock when the connector looked, so that
Kafka's time says no less.
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

WIDTH = 32  # hexadecimal digits: on z/OS an LSN may have 20
_LSN = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:(?:[0-9a-f]{2}){1,8}")
_OWN = re.compile(r"[0-9a-f]{8}:[0-9a-f]{8}:[0-9a-f]{16}")  # SQL Server's end in four digits
_LAST = "f" * WIDTH
COMMITTED_SINCE = (3, 7)
_STREAMED = (None, False, "false")


class Db2(Connector):
    """See the module."""

    names = ("db2",)
    accepts = ("db2",)
    dialect = Dialect(fraction=9)
    shifts = True
    reads_last = True
    reads_newest = True
    apart = ("change_lsn",)

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return _OWN.fullmatch(str(source.get("commit_lsn") or "").lower()) is not None

    def position(self, source: Mapping[str, Any]) -> Position:
        commit, shown = _digits(source, "commit_lsn"), str(source.get("commit_lsn"))
        if text(source.get("change_lsn")) is None:
            return Position(commit + _LAST, shown, commit)
        change = _digits(source, "change_lsn")
        return Position(commit + change, f"{shown}/{source['change_lsn']}", f"{commit}:{change}")

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        return tuple(
            (text(source.get(name)) or "").lower() for name in ("commit_lsn", "change_lsn")
        )

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        if snapshot:
            return Moment.of(source, TimeQuality.SNAPSHOT)
        committed = release(source) >= COMMITTED_SINCE
        return Moment.of(source, TimeQuality.COMMIT if committed else TimeQuality.KAFKA)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        streamed = text(source.get("change_lsn")) and source.get("snapshot") in _STREAMED
        return text(source.get("commit_lsn")) if streamed else None

    def defined(self, table: str, place: Mapping[str, Any]) -> str:
        """DDL events name the schema and the table, records the database as well."""
        database = text(place.get("db"))
        return table if database is None else f"{database}.{table}"

    def connect_schema(self, native: Mapping[str, Any]) -> dict[str, Any] | None:
        return relational_types.db2(native)


def _digits(source: Mapping[str, Any], name: str) -> str:
    """The bytes of an LSN as digits of one width, whose order as text is theirs as numbers."""
    lsn = str(source.get(name) or "")
    if _LSN.fullmatch(lsn.lower()) is None:
        raise UndecodableError("no_position", f"source.{name} is {lsn!r}, not an LSN")
    return lsn.lower().replace(":", "").zfill(WIDTH)
