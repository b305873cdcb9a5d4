"""BMDBDB, that is YugabyteDB's gRPC connector (`bmdbdb`, `yugabytedb`).

Order: `commit_time`, a hybrid time that compares across tablets; where it is missing (term, index)
of the lsn `term:index:key:write:time`, which compare inside one tablet only: a truncate then fences
the rows of its own tablet (docs/facts/questions.md, A4). Servers set none for a truncate
(`PopulateCDCSDKTruncateRecord` of yugabyte-db; it is sent as 0): per key it stands behind the last
row that lies before it in the log of its tablet (ADR 0009). Cells come wrapped,
`{"value": …, "set": …}`; a bare null in an update was not sent (docs/facts/order.md, "Partial
images"). Several tablets may report one truncate. An update of all columns comes as a create
(docs/facts/order.md, "Packed rows"). Time: `commit_time >> 12` in microseconds; `ts_ms` was wrong
before August 2023. The logical-replication connector is a fork of Debezium's for PostgreSQL and
calls itself so (YugabyteDB in its documentation); its numeric lsn orders as PostgreSQL's, its cells
come wrapped. See docs/facts/positions.md, "YugabyteDB gRPC" and "YugabyteDB
by replication slot".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from strandline.changes.position import Local, Position, digits
from strandline.changes.version import TimeQuality
from strandline.connectors.connector import Connector, Moment, instant, integer, text
from strandline.connectors.postgresql import PostgreSQL
from strandline.errors import UndecodableError
from strandline.formats import connect

_LOGICAL = PostgreSQL()
_LOGICAL_BITS = 12  # of a hybrid time: a counter below the microseconds
_PARTS = 5


class YugabyteDB(Connector):
    """See the module."""

    names = ("bmdbdb", "yugabytedb")
    accepts = ("bmdbdb", "yugabytedb", "YugabyteDB", "postgresql")
    full_before = False
    shards = True
    packs = True

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return ":" in str(source.get("lsn") or "")

    def position(self, source: Mapping[str, Any]) -> Position:
        lsn = str(source.get("lsn") or "")
        if ":" not in lsn:
            return replace(_LOGICAL.position(source), own=None)
        commit, tablet = text(source.get("commit_time")), text(source.get("tablet_id"))
        if commit is None:
            term, index, *_ = _parts(lsn)
            return Position(_place(lsn), lsn, text(source.get("txId")) or f"{term}:{index}")
        major = digits(commit, 16, "source.commit_time")
        local = None if tablet is None else _local(lsn, tablet)
        shown = lsn if local is None else f"{lsn}@{tablet}"
        return Position(major, shown, commit, local=local)

    def fence(self, source: Mapping[str, Any]) -> Position:
        """Before every row, until the rows of a key tell behind which of them it stands."""
        position = self.position(source)
        if not (self.recognises(source) and _is_untimed(source)):
            return replace(position, local=None)
        if position.local is None:
            raise UndecodableError(
                "no_position",
                "source.commit_time of the truncate is 0, and it names no place in the log of a "
                "tablet: nothing tells which rows came before it. Reconcile the table with its "
                "source",
            )
        return replace(position, major=position.major + position.local.place)

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        return tuple(text(source.get(name)) for name in ("lsn", "commit_time", "tablet_id", "txId"))

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        hybrid = integer(source.get("commit_time"))
        quality = TimeQuality.SNAPSHOT if snapshot else TimeQuality.COMMIT
        if hybrid is not None and hybrid > 0:
            return Moment(instant(hybrid >> _LOGICAL_BITS), quality)
        return Moment.of(source, quality)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        return text(source.get("txId"))

    def tablet(self, source: Mapping[str, Any]) -> str | None:
        timed = text(source.get("commit_time")) is not None and not _is_untimed(source)
        return None if timed else text(source.get("tablet_id"))

    def unwrap(
        self, row: Mapping[str, Any], *, partial: bool
    ) -> tuple[Mapping[str, Any], frozenset[str]]:
        wrapped = any(_is_cell(cell) for cell in row.values())
        if not wrapped:
            return row, frozenset()
        unset = {
            name
            for name, cell in row.items()
            if (partial and cell is None) or (_is_cell(cell) and cell.get("set") is False)
        }
        cells = {name: cell["value"] if _is_cell(cell) else cell for name, cell in row.items()}
        return {n: cell for n, cell in cells.items() if n not in unset}, frozenset(unset)

    def unwrap_schema(self, field: Mapping[str, Any]) -> Mapping[str, Any]:
        cell = connect.fields(field)
        return cell["value"] if _is_cell(cell) else field


def _is_cell(cell: object) -> bool:
    """Whether a document, or the fields of a schema, are a value and its mark; a number is not."""
    return isinstance(cell, dict) and "value" in cell and cell.keys() <= {"value", "set"}


def _is_untimed(source: Mapping[str, Any]) -> bool:
    return integer(source.get("commit_time")) == 0


def _local(lsn: str, tablet: str) -> Local | None:
    """None for a lsn of another form: a row with a commit time has its place all the same."""
    try:
        return Local(tablet, _place(lsn))
    except UndecodableError:
        return None


def _place(lsn: str) -> str:
    term, index, *_ = _parts(lsn)
    return digits(term, 16, "the term of source.lsn") + digits(index, 16, "its index")


def _parts(lsn: str) -> list[str]:
    parts = lsn.split(":")
    if len(parts) != _PARTS:
        raise UndecodableError(
            "no_position", f"source.lsn is {lsn!r}, not term:index:key:write:time"
        )
    return parts
