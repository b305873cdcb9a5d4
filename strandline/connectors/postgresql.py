"""PostgreSQL (Debezium `postgresql`).

Order: (end of the previously committed transaction, `source.lsn`), compared as a pair of unsigned
integers. The first is that of `source.sequence`; where it is null, as in the first transaction
after a start, the change stands by its own lsn alone. Plain `lsn` interleaves across transactions.
The second of `sequence` only repeats the lsn, and not always well (1.5 to 1.6.1): it stands in
where there is none. Identity: lsn and txId; `sequence` changes across restarts (all of this was
seen: docs/facts/positions.md, "PostgreSQL"). Time: `source.ts_us`, the commit time; of a read, the
start of the table's scan. `before` is the whole row under REPLICA IDENTITY FULL only; otherwise NOT
NULL columns are filled with fallbacks (docs/facts/order.md, "Before images").
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from strandline.changes.position import Position, digits
from strandline.changes.version import TimeQuality
from strandline.connectors.connector import Connector, Moment, text
from strandline.errors import UndecodableError


class PostgreSQL(Connector):
    """See the module."""

    names = ("postgresql",)
    accepts = ("postgresql",)
    shifts = True  # with a deferrable key
    full_before = False  # only under REPLICA IDENTITY FULL

    def recognises(self, source: Mapping[str, Any]) -> bool:
        lsn = text(source.get("lsn"))
        return integer_like(lsn) or (lsn is None and text(source.get("sequence")) is not None)

    def position(self, source: Mapping[str, Any]) -> Position:
        commit, lsn = _place(source)
        end, start = digits(commit, 16, "source.sequence[0]"), digits(lsn, 16, "source.lsn")
        link = f"{text(source.get('txId'))}:{lsn}"
        own = Position(start + start, f"{int(lsn)}/{int(lsn)}", link)
        return Position(end + start, f"{int(commit)}/{int(lsn)}", link, own)

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        return (_place(source)[1], text(source.get("txId")))

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        quality = TimeQuality.SNAPSHOT if snapshot else TimeQuality.COMMIT
        return Moment.of(source, quality)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        return text(source.get("txId"))

    def in_flight(self, source: Mapping[str, Any]) -> bool:
        """The first transaction after a start has no commit before it in `sequence`."""
        return _pair(source)[0] is None


def integer_like(value: object) -> bool:
    """A number, or the digits of one."""
    return not isinstance(value, bool) and isinstance(value, int | str) and str(value).isdigit()


def _pair(source: Mapping[str, Any]) -> tuple[object, object]:
    sequence = source.get("sequence")
    if isinstance(sequence, str):
        return _read(sequence)
    try:
        commit, lsn = [None, None] if sequence is None else sequence
    except (ValueError, TypeError) as error:
        raise UndecodableError("no_position", f"source.sequence is {sequence!r}") from error
    return commit, lsn


@lru_cache(maxsize=64)  # each record is asked several times
def _read(sequence: str) -> tuple[object, object]:
    try:
        commit, lsn = json.loads(sequence)
    except (ValueError, TypeError, RecursionError) as error:
        raise UndecodableError("no_position", f"source.sequence is {sequence!r}") from error
    return commit, lsn


def _place(source: Mapping[str, Any]) -> tuple[str, str]:
    """(commit, lsn) as decimal text; reads of an incremental snapshot have their lsn in `sequence`.

    So has a change beyond 63 bits: `lsn` has a sign in its schema, and none in the log.
    """
    commit, repeated = _pair(source)
    lsn = source.get("lsn")
    if repeated is not None and (lsn is None or (isinstance(lsn, int) and lsn < 0)):
        lsn = repeated
    if lsn is None:
        raise UndecodableError("no_position", "neither source.sequence nor source.lsn is set")
    return (str(lsn) if commit is None else str(commit)), str(lsn)
