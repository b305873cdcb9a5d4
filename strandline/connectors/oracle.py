"""Oracle (Debezium `oracle`, LogMiner; also embedders that send its fields).

Order: `commit_scn`, of a read `scn`, as integers of any size that come as text. XStream connectors
that send no `commit_scn` have it in the first 8 bytes of the LCR's position (33 bytes, the last one
a 2; bytes 16 to 23 are `scn`). Where neither says when a change was committed, it may have been
open at a snapshot. A read saw every commit up to its SCN. A statement may take a key over before
its row left it (docs/facts/order.md, "Shifts inside a statement").

Without `txSeq` (before 3.2) changes of one transaction share a position. Time:
`commit_ts_ms`; before 3.1 `ts_ms`, the time of the change. See docs/facts/positions.md, "Oracle".
"""

import re
from collections.abc import Mapping
from typing import Any

from strandline.cells.types import Dialect
from strandline.changes.position import Position
from strandline.changes.version import TimeQuality
from strandline.connectors import relational_types
from strandline.connectors.connector import (
    Connector,
    Moment,
    instant,
    integer,
    text,
    thousandfold,
)
from strandline.errors import UndecodableError

WIDTH = 40  # decimal digits: more than any SCN has, and exact however long it is
_NONE = (None, "", "0", 0)
# An LCR's position with the SCNs of its commit and of the change.
LCR = r"([0-9a-fA-F]{16})[0-9a-fA-F]{16}([0-9a-fA-F]{16})[0-9a-fA-F]{16}02"


class Oracle(Connector):
    """See the module."""

    names = ("oracle",)
    accepts = ("oracle", "Oracle XStream CDC")
    dialect = Dialect(fraction=9)
    shifts = True
    shares = True
    reads_last = True
    shares_fences = True
    apart = ("scn",)

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return text(source.get("scn")) is not None

    def position(self, source: Mapping[str, Any]) -> Position:
        commit = _commit(source)
        name, at = ("scn", source.get("scn")) if commit is None else ("commit_scn", commit)
        text_of = str(at)
        if isinstance(at, bool) or not text_of.isascii() or not text_of.isdigit():
            raise UndecodableError("no_position", f"source.{name} is {at!r}, not an SCN")
        major = text_of.zfill(WIDTH)
        if len(major) > WIDTH:
            raise UndecodableError("no_position", f"source.{name} is {at}, out of range")
        return Position(major, str(at), f"{text(source.get('txId'))}:{major}")

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        names = ("commit_scn", "txId", "scn", "rs_id", "ssn", "lcr_position")
        return tuple(text(source.get(name)) for name in names)

    def ordinal(self, source: Mapping[str, Any], transaction: Mapping[str, Any]) -> str | None:
        return text(source.get("txSeq")) or super().ordinal(source, transaction)

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        if snapshot:
            return Moment.of(source, TimeQuality.SNAPSHOT)
        commit = thousandfold(integer(source.get("commit_ts_ms")))
        if commit is not None:
            return Moment(instant(commit), TimeQuality.COMMIT)
        return Moment.of(source, TimeQuality.CHANGE)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        return text(source.get("txId"))

    def in_flight(self, source: Mapping[str, Any]) -> bool:
        """A change that nobody says the commit of: its `scn` is when the row was written."""
        return _commit(source) is None

    def connect_schema(self, native: Mapping[str, Any]) -> dict[str, Any] | None:
        return relational_types.oracle(native)


def _commit(source: Mapping[str, Any]) -> object:
    """The SCN of the commit; None where nothing tells it."""
    if source.get("commit_scn") not in _NONE:
        return source["commit_scn"]
    lcr = re.fullmatch(LCR, text(source.get("lcr_position")) or "")
    if lcr is None or str(int(lcr[2], 16)) != str(source.get("scn")):
        return None
    return str(int(lcr[1], 16))
