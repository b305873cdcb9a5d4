"""PostgreSQL (Debezium `postgresql`).

Order: `source.sequence` = [end of the previously committed transaction, lsn], compared as a pair of
unsigned integers; a first element null reads as the second (live-stack, "Real events", 1). Plain
`lsn` interleaves across transactions. Identity: lsn and txId; `sequence` changes across restarts
(ibid. 2). Time: `source.ts_us`, the commit time; of a read, the start of the table's scan.
"""

import json
from collections.abc import Mapping
from typing import Any

from strandline.connectors.connector import Connector, Moment
from strandline.errors import UndecodableError
from strandline.position import Position, digits
from strandline.version import TimeQuality


class PostgreSQL(Connector):
    """See the module."""

    names = ("postgresql",)

    def position(self, source: Mapping[str, Any]) -> Position:
        commit, lsn = _sequence(source)
        major = digits(commit, 16, "source.sequence[0]") + digits(lsn, 16, "source.sequence[1]")
        return Position(major, f"{int(commit)}/{int(lsn)}", f"{source.get('txId')}:{lsn}")

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        return (_sequence(source)[1], source.get("txId"))

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        quality = TimeQuality.SNAPSHOT if snapshot else TimeQuality.COMMIT
        return Moment.of(source, quality)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        tx_id = source.get("txId")
        return None if tx_id is None else str(tx_id)


def _sequence(source: Mapping[str, Any]) -> tuple[str, str]:
    """(commit, lsn) as decimal text; `lsn` stands in where a connector before 1.5 sent no pair."""
    text = source.get("sequence")
    try:
        pair = json.loads(text) if isinstance(text, str) else [None, None]
        commit, lsn = pair
    except ValueError as error:
        raise UndecodableError("no_position", f"source.sequence is {text!r}") from error
    lsn = source.get("lsn") if lsn is None else lsn
    if lsn is None:
        raise UndecodableError("no_position", "neither source.sequence nor source.lsn is set")
    return (str(lsn) if commit is None else str(commit)), str(lsn)
