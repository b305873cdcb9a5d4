"""BMDBDB, that is YugabyteDB's gRPC connector (`bmdbdb`, `yugabytedb`).

Order: `commit_time`, a hybrid time that compares across tablets; where it is missing (term, index)
of the lsn `term:index:key:write:time`, which compare inside one tablet only: a truncate then fences
the rows of its own tablet (debezium-facts §1.5, ordering-notes §9 A4). A truncate whose
`commit_time` is 0 goes to quarantine: servers set none (`PopulateCDCSDKTruncateRecord` of
yugabyte-db), and it would stand before every row. Cells come wrapped,
`{"value": …, "set": …}`; a bare null in an update was not sent (§6). Several tablets may report one
truncate. Time: `commit_time >> 12` in microseconds; `ts_ms` was wrong before August 2023. The
logical-replication connector is a fork of Debezium's for PostgreSQL and calls itself so (YugabyteDB
in its documentation); its numeric lsn orders as PostgreSQL's, its cells come wrapped (§1.6).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from strandline import connect
from strandline.connectors.connector import Connector, Moment, instant, integer, text
from strandline.connectors.postgresql import PostgreSQL
from strandline.errors import UndecodableError
from strandline.position import Position, digits
from strandline.version import TimeQuality

_LOGICAL = PostgreSQL()
_LOGICAL_BITS = 12  # of a hybrid time: a counter below the microseconds
_PARTS = 5


class YugabyteDB(Connector):
    """See the module."""

    names = ("bmdbdb", "yugabytedb")
    accepts = ("bmdbdb", "yugabytedb", "YugabyteDB", "postgresql")
    full_before = False

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return ":" in str(source.get("lsn") or "")

    def position(self, source: Mapping[str, Any]) -> Position:
        lsn = str(source.get("lsn") or "")
        if ":" not in lsn:
            return replace(_LOGICAL.position(source), own=None)
        commit = text(source.get("commit_time"))
        if commit is not None:
            return Position(digits(commit, 16, "source.commit_time"), lsn, commit)
        term, index, *_ = _parts(lsn)
        major = digits(term, 16, "the term of source.lsn") + digits(index, 16, "its index")
        return Position(major, lsn, text(source.get("txId")) or f"{term}:{index}")

    def fence(self, source: Mapping[str, Any]) -> Position:
        """Servers give each record a commit time but a truncate, whose own is then 0."""
        if integer(source.get("commit_time")) == 0 and self.recognises(source):
            raise UndecodableError(
                "no_position",
                "source.commit_time of the truncate is 0: nothing tells which rows came before it. "
                "Reconcile the table with its source",
            )
        return self.position(source)

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

    def scope(self, source: Mapping[str, Any]) -> str | None:
        table = super().scope(source)
        if text(source.get("commit_time")) is not None or table is None:
            return table
        tablet = text(source.get("tablet_id"))
        return table if tablet is None else f"{table}@{tablet}"

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


def _parts(lsn: str) -> list[str]:
    parts = lsn.split(":")
    if len(parts) != _PARTS:
        raise UndecodableError(
            "no_position", f"source.lsn is {lsn!r}, not term:index:key:write:time"
        )
    return parts
