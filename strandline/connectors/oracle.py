"""Oracle (Debezium `oracle`, LogMiner; also embedders that send its fields).

Order: `commit_scn`, of a read `scn`, as integers of any size that come as text (debezium-facts
§1.4). A read saw every commit up to its SCN. A statement may take a key over before its row left it
(ordering-notes §5). Without `txSeq` (before 3.2) changes of one transaction share a position. Time:
`commit_ts_ms`; before 3.1 `ts_ms`, the time of the change.
"""

from collections.abc import Mapping
from typing import Any

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
from strandline.position import Position
from strandline.version import TimeQuality

WIDTH = 40  # decimal digits: more than any SCN has, and exact however long it is
_NONE = (None, "", "0", 0)


class Oracle(Connector):
    """See the module."""

    names = ("oracle",)
    accepts = ("oracle", "Oracle XStream CDC")
    shifts = True
    shares = True
    reads_last = True
    shares_fences = True
    apart = ("scn",)

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return text(source.get("scn")) is not None

    def position(self, source: Mapping[str, Any]) -> Position:
        commit, scn = source.get("commit_scn"), source.get("scn")
        name, at = ("scn", scn) if commit in _NONE else ("commit_scn", commit)
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

    def connect_schema(self, native: Mapping[str, Any]) -> dict[str, Any] | None:
        return relational_types.oracle(native)
