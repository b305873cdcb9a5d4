"""The `source` of an event, for connectors whose well-formed ones are read by type.

One class a connector: the fields that it reads, as msgspec types, and what they say. What raises
here, or does not fit, is left to the general decoder; what is said is what
`strandline.connectors` says.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS, Connector
from strandline.connectors.oracle import WIDTH

# PostgreSQL's `sequence`, cut at its quotes: with two positions, and with one.
_PAIR, _LONE = 5, 3
_COMMAS, _NULLS = frozenset({",", ", "}), frozenset({"[null,", "[null, "})
_DIGITS = 19
_FILE_NUMBER = re.compile(r"([0-9]{1,8})[^0-9]*$")
_OF_SNAPSHOT, _OF_COMMIT = TimeQuality.SNAPSHOT.value, TimeQuality.COMMIT.value
_STATEMENT = TimeQuality.STATEMENT.value
_FAR = 1 << 63  # beyond any position that is a number of 64 bits with a sign

# Major position, own position, text for people, time in microseconds and its quality, transaction.
Origin = tuple[str, str, str, int, str, str | None]


class Source(msgspec.Struct, gc=False):
    """What all connectors send."""

    connector: str
    version: str = ""
    name: str | None = None
    ts_ms: int | None = None
    ts_us: int | None = None
    snapshot: str | bool | None = None
    db: str | None = None
    schema: str | None = None
    table: str | None = None


class PostgreSQLSource(Source, gc=False):
    """PostgreSQL's, with the fields that order it."""

    sequence: str = ""
    txId: int | None = None  # noqa: N815 - as it is sent


class MySQLSource(Source, gc=False):
    """MySQL's and MariaDB's, with the fields that order them."""

    file: str = ""
    pos: int = -1
    gtid: str | None = None
    row: int | str | None = None


class OracleSource(Source, gc=False):
    """Oracle's (LogMiner), with the fields that order it."""

    scn: str | None = None
    commit_scn: str | None = None
    commit_ts_ms: int | None = None
    txId: str | None = None  # noqa: N815 - as it is sent


class Transaction(msgspec.Struct, gc=False):
    """What the connector says of a change's transaction besides its source."""

    id: str | None = None


class UnclearError(ValueError):
    """Something that is for the general decoder to judge."""


def postgresql(source: PostgreSQLSource, read: bool, snapshot: bool) -> Origin:  # noqa: FBT001
    """See `strandline.connectors.postgresql`."""
    parts = source.sequence.split('"')
    if len(parts) == _PAIR:
        start, commit, comma, lsn, end = parts
        if start != "[" or comma not in _COMMAS:
            raise UnclearError
    elif read and len(parts) == _LONE and parts[0] in _NULLS:
        _, lsn, end = parts
        commit = lsn
    else:
        raise UnclearError  # of a transaction in flight, or none of these
    if end != "]":
        raise UnclearError
    own, ended = _lsn(lsn), _commit(commit)
    tx_id = None if source.txId is None else str(source.txId)
    quality = _OF_SNAPSHOT if snapshot else _OF_COMMIT
    return ended + own, own + own, f"{commit}/{lsn}", _micros(source), quality, tx_id


def _micros(source: Source) -> int:
    """From `ts_us` (since Debezium 2.6), else `ts_ms`."""
    if source.ts_us is not None:
        return source.ts_us
    if source.ts_ms is None:
        raise UnclearError
    return source.ts_ms * 1000


def _lsn(text: str) -> str:
    """A position as digits that sort; only as a number is written, of 64 bits with a sign."""
    if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS or text[0] == "0":
        raise UnclearError
    number = int(text)
    if number >= _FAR:
        raise UnclearError
    return f"{number:016x}"


_commit = lru_cache(maxsize=16)(_lsn)  # the changes of a transaction have it in common


def postgresql_link(source: PostgreSQLSource) -> str:
    """See `strandline.changes.position.Position.link`."""
    lsn = source.sequence.split('"')[-2]
    return f"{source.txId}:{lsn}"


def mysql(source: MySQLSource, read: bool, snapshot: bool) -> Origin:  # noqa: FBT001
    """See `strandline.connectors.mysql`."""
    del read
    pos = source.pos
    if not 0 <= pos < _FAR:
        raise UnclearError
    major = f"{_number(source.file)}{pos:016x}"
    gtid = source.gtid or None
    exact = source.connector == "mysql" and gtid and source.ts_us
    quality = _OF_SNAPSHOT if snapshot else _OF_COMMIT if exact else _STATEMENT
    return major, major, f"{source.file}:{pos}", _micros(source), quality, gtid


def mysql_link(source: MySQLSource) -> str:
    """See `strandline.changes.position.Position.link`."""
    return f"{source.file}:{source.pos}:{source.row}"


def oracle(source: OracleSource, read: bool, snapshot: bool) -> Origin:  # noqa: FBT001
    """See `strandline.connectors.oracle`."""
    commit = source.commit_scn
    at = source.scn if read and commit is None else commit
    if at is None or not (at.isascii() and at.isdigit()) or len(at) > WIDTH:
        raise UnclearError
    if int(at) == 0:
        raise UnclearError  # of a transaction that nobody says the commit of
    major, tx_id = at.zfill(WIDTH), source.txId or None
    if snapshot:
        return major, major, at, _micros(source), _OF_SNAPSHOT, tx_id
    if source.commit_ts_ms is None:
        raise UnclearError
    return major, major, at, source.commit_ts_ms * 1000, _OF_COMMIT, tx_id


def oracle_link(source: OracleSource) -> str:
    """See `strandline.changes.position.Position.link`."""
    at = source.commit_scn or source.scn or ""
    return f"{source.txId or None}:{at.zfill(WIDTH)}"


@lru_cache(maxsize=1024)
def _number(file: str) -> str:
    found = _FILE_NUMBER.search(file)
    if found is None or (found.start() and file[found.start() - 1].isdigit()):
        raise UnclearError
    return f"{int(found[1]):08x}"


# By what `source.connector` says: the connector, its fields, what reads them, and what the two
# halves of a key move have in common.
READERS: dict[str, tuple[Connector, type[Source], Callable[..., Any], Callable[..., str]]] = {
    "postgresql": (CONNECTORS["postgresql"], PostgreSQLSource, postgresql, postgresql_link),
    "oracle": (CONNECTORS["oracle"], OracleSource, oracle, oracle_link),
    "mysql": (CONNECTORS["mysql"], MySQLSource, mysql, mysql_link),
    "mariadb": (CONNECTORS["mysql"], MySQLSource, mysql, mysql_link),
}
