"""The `source` block of each connector, from the position that a line of a case names.

`@20` means the same for all of them: position 20 in the log, committed 20 seconds after noon.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

DAY = datetime(2026, 9, 21, tzinfo=UTC)
NOON = DAY + timedelta(hours=12)
UUID = "b24176f2-5409-11ec-80d4-b8599fe5c6ea"


@dataclass(frozen=True)
class Place:
    """What a connector's fields are made of: op, the text after `@`, `tx=` and other options."""

    op: str
    position: str
    snapshot: str
    options: Mapping[str, str]

    @property
    def read(self) -> bool:
        """True for a row that a snapshot read."""
        return self.snapshot != "false"


Fields = tuple[dict, float]  # of the source block; seconds after noon of the commit


def postgresql(at: Place) -> Fields:
    """`@LSN`, `@COMMIT/LSN` (COMMIT: end of the transaction before, or `null`)."""
    commit, _, lsn = at.position.rpartition("/")
    known = commit != "null" and (commit or not at.read)
    incremental = at.snapshot == "incremental"
    return {
        "sequence": json.dumps([commit or lsn if known else None, lsn]),
        "schema": "public",
        "txId": None if incremental else int(at.options.get("tx", lsn)),
        "lsn": None if incremental else int(lsn),
        "xmin": None,
    }, int(lsn)


def binlog(at: Place, file: str = "mysql-bin", gtid: str | None = None) -> Fields:
    """`@POS`, `@FILE:POS`, `@FILE:POS:ROW`."""
    parts = at.position.split(":")
    number, pos, row = (*(parts if len(parts) > 1 else ["1", *parts]), "0")[:3]
    return {
        "server_id": 0 if at.read else 223344,
        "gtid": gtid,
        "file": f"{file}.{int(number):06d}",
        "pos": int(pos),
        "row": int(row),
        "thread": None if at.read else 7,
        "query": None,
    }, int(pos)


def _mysql(at: Place) -> Fields:
    """MySQL: a GTID where the line says `tx=8`."""
    tx = at.options.get("tx")
    return binlog(at, gtid=None if tx is None else f"{UUID}:{tx}")


def _mariadb(at: Place) -> Fields:
    """MariaDB: every transaction has a GTID."""
    tx = at.options.get("tx", at.position.replace(":", ""))
    return binlog(at, "mariadb-bin", None if at.read else f"0-1-{tx}")


def sqlserver(at: Place) -> Fields:
    """`@COMMIT`, `@COMMIT/CHANGE`; `serial=N` for event_serial_no."""
    commit, _, change = at.position.partition("/")
    serial = at.options.get("serial", "2" if at.op == "u" else "1")
    return {
        "schema": "dbo",
        "change_lsn": None if at.read else f"00000027:{int(change or commit):08x}:0002",
        "commit_lsn": f"00000027:{int(commit):08x}:0005",
        "event_serial_no": None if at.read else int(serial),
    }, int(commit)


def db2(at: Place) -> Fields:
    """`@COMMIT`, `@COMMIT/CHANGE`; a read has a change where it says so."""
    commit, _, change = at.position.partition("/")
    told = change or (None if at.read else commit)
    return {
        "schema": "SHOP",
        "change_lsn": None if told is None else f"00000000:00000000:{int(told):016x}",
        "commit_lsn": f"00000000:00001e36:{int(commit):016x}",
    }, int(commit)


def oracle(at: Place) -> Fields:
    """`@COMMIT_SCN`, `@COMMIT_SCN/SCN`; of a read `@SCN`; `seq=N` for txSeq."""
    commit, _, scn = at.position.partition("/")
    moment = NOON + timedelta(seconds=int(commit) % 3600)
    tx = at.options.get("tx", commit)
    return {
        "schema": "SHOP",
        "txId": None if at.read else f"0a001f00{int(tx) % (1 << 32):08x}",
        "scn": scn or commit,
        "commit_scn": None if at.read else commit,
        "lcr_position": None,
        "rs_id": None if at.read else "001234.00012345.0124",
        "ssn": 0,
        "redo_thread": None if at.read else 1,
        "user_name": None if at.read else "SHOP",
        "commit_ts_ms": None if at.read else int(moment.timestamp() * 1000),
        **({"txSeq": int(at.options["seq"])} if "seq" in at.options else {}),
    }, int(commit) % 3600


def bmdbdb(at: Place) -> Fields:
    """`@COMMIT_TIME`; `@TERM:INDEX` or `@TERM:INDEX:WRITE` of a connector without commit_time."""
    timed = ":" not in at.position
    lsn = at.options.get("lsn", f"1:{at.position}" if timed else at.position)
    term, index, write = (*lsn.split(":"), "0")[:3]
    full = f"{term}:{index}::{write}:0"
    fields = {
        "sequence": json.dumps([None, full]),
        "schema": "public",
        "txId": at.options.get("tx", ""),
        "lsn": full,
        "xmin": None,
    }
    seconds = int(at.position if timed else index)
    if timed:
        hybrid = int((NOON + timedelta(seconds=seconds)).timestamp()) * 1_000_000 << 12
        fields |= {"commit_time": hybrid, "record_time": hybrid}
    if timed or "tablet" in at.options:
        fields["tablet_id"] = at.options.get("tablet", "a")
    return fields, seconds


@dataclass(frozen=True)
class Kind:
    """A connector as the cases know it.

    `name` is what `source.connector` says, `version` the default release; topics are called
    `<prefix>.<place>.<table>`. `truncate_images` is False where a truncate has no fields `before`
    and `after` at all, `whole_seconds` where the source's clock knows no fractions, `wrapped`
    where cells are `{"value": …, "set": true}`. `databases` is False where DDL events name tables
    without their database.
    """

    name: str
    version: str
    place: str
    fields: Callable[[Place], Fields]
    db: str = "shop"
    truncate_images: bool = True
    whole_seconds: bool = False
    wrapped: bool = False
    databases: bool = True


_BINLOG = {"truncate_images": False, "whole_seconds": True}
KINDS = {
    "postgresql": Kind("postgresql", "3.7.0.Final", "public", postgresql),
    "mysql": Kind("mysql", "3.4.0.Final", "shop", _mysql, **_BINLOG),
    "mariadb": Kind("mariadb", "3.5.0.Final", "shop", _mariadb, whole_seconds=True),
    "tencent": Kind("mysql", "1.9.3.Final", "shop", _mysql, **_BINLOG),
    "sqlserver": Kind("sqlserver", "2.3.4.Final", "shop.dbo", sqlserver),
    "db2": Kind("db2", "3.7.0.Final", "SHOP", db2, db="TESTDB", databases=False),
    "oracle": Kind("oracle", "3.1.0.Final", "SHOP", oracle, db="SHOPDB"),
    "bmdbdb": Kind("bmdbdb", "1.9.5.y.11", "public", bmdbdb, wrapped=True),
    "yugabytedb": Kind("yugabytedb", "1.9.5.y.220", "public", bmdbdb, wrapped=True),
}
