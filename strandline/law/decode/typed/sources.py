"""The `source` of an event, for connectors whose well-formed ones are read by type.

One class a connector: the fields that it reads, as msgspec types, and what they say, column by
column. What is refused here, or does not fit, is left to the general decoder; what is said is what
`strandline.connectors` says.
"""

import re
from collections.abc import Callable, Sequence
from operator import add
from typing import Any, NamedTuple

import msgspec

from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS, Connector
from strandline.connectors.oracle import WIDTH
from strandline.law.decode.typed.refusal import UnclearError, distinct, require

# PostgreSQL's `sequence`, with two positions, and with one; each as a number is written.
_PAIR = re.compile(r'\["([1-9][0-9]{0,18})", ?"([1-9][0-9]{0,18})"\]').fullmatch
_LONE = re.compile(r'\[null, ?"([1-9][0-9]{0,18})"\]').fullmatch
_FILE_NUMBER = re.compile(r"([0-9]{1,8})[^0-9]*$")
_OF_SNAPSHOT, _OF_COMMIT = TimeQuality.SNAPSHOT.value, TimeQuality.COMMIT.value
_STATEMENT = TimeQuality.STATEMENT.value
_FAR = 1 << 63  # beyond any position that is a number of 64 bits with a sign


class Origins(NamedTuple):
    """Where changes stand in their source's log, and when they were made there, as columns.

    `major` and `own` are those of the position (without an epoch), `position` is for people, `best`
    is microseconds since 1970 with its `quality`, `tx_id` the transaction's.
    """

    major: list[str]
    own: list[str]
    position: list[str]
    best: list[int]
    quality: list[str]
    tx_id: list[str | None]


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
    lsn: int | None = None
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


class Skipped(msgspec.Struct, gc=False):
    """An object of which nothing is read."""


class Transaction(msgspec.Struct, gc=False):
    """What the connector says of a change's transaction besides its source."""

    id: str | None = None


def postgresql(
    sources: Sequence[PostgreSQLSource], ops: Sequence[str], snapshots: Sequence[bool]
) -> Origins:
    """See `strandline.connectors.postgresql`."""
    places = [_PAIR(source.sequence) for source in sources]
    if None in places:
        # One position alone is a read's; a change has none where its transaction is in flight.
        places = [
            found or (_LONE(source.sequence) if op == "r" else None)
            for found, source, op in zip(places, sources, ops, strict=True)
        ]
        require(places)
    commits = [found[1] for found in places if found]
    texts = [found[found.lastindex or 1] for found in places if found]
    numbers = list(map(int, texts))
    if max(numbers) >= _FAR:
        require(number < _FAR for number in numbers)
    said = [source.lsn for source in sources]
    if said != numbers:
        # Connectors 1.5 and 1.6 repeat one `sequence` for all changes of a transaction.
        require(lsn in (None, number) for lsn, number in zip(said, numbers, strict=True))
    ended = distinct(_log_number, commits)
    own = [f"{number:016x}" for number in numbers]
    return Origins(
        major=list(map(add, ended, own)),
        own=list(map(add, own, own)),
        position=[f"{commit}/{text}" for commit, text in zip(commits, texts, strict=True)],
        best=_micros(sources),
        quality=_qualities(snapshots),
        tx_id=[None if source.txId is None else str(source.txId) for source in sources],
    )


def _log_number(text: str) -> str:
    """A position as digits that sort; only of 64 bits with a sign."""
    number = int(text)
    if number >= _FAR:
        raise UnclearError
    return f"{number:016x}"


def _micros(sources: Sequence[Source]) -> list[int]:
    """From `ts_us` (since Debezium 2.6), else `ts_ms`."""
    found = [source.ts_us for source in sources]
    if None in found:
        require(source.ts_us is not None or source.ts_ms is not None for source in sources)
        return [
            (source.ts_ms or 0) * 1000 if source.ts_us is None else source.ts_us
            for source in sources
        ]
    return found  # type: ignore[return-value]


def _qualities(snapshots: Sequence[bool]) -> list[str]:
    return [_OF_SNAPSHOT if of else _OF_COMMIT for of in snapshots]


def postgresql_link(source: PostgreSQLSource) -> str:
    """See `strandline.changes.position.Position.link`."""
    lsn = source.sequence.split('"')[-2]
    return f"{source.txId}:{lsn}"


def mysql(sources: Sequence[MySQLSource], ops: Sequence[str], snapshots: Sequence[bool]) -> Origins:
    """See `strandline.connectors.mysql`."""
    del ops
    places = [source.pos for source in sources]
    if min(places) < 0 or max(places) >= _FAR:
        require(0 <= place < _FAR for place in places)
    files = [source.file for source in sources]
    major = [
        f"{number}{place:016x}"
        for number, place in zip(distinct(_file_number, files), places, strict=True)
    ]
    return Origins(
        major=major,
        own=major,
        position=[f"{file}:{place}" for file, place in zip(files, places, strict=True)],
        best=_micros(sources),
        quality=list(map(_mysql_quality, sources, snapshots)),
        tx_id=[source.gtid or None for source in sources],
    )


def _mysql_quality(source: MySQLSource, snapshot: bool) -> str:  # noqa: FBT001
    if snapshot:
        return _OF_SNAPSHOT
    exact = source.connector == "mysql" and source.gtid and source.ts_us
    return _OF_COMMIT if exact else _STATEMENT


def mysql_link(source: MySQLSource) -> str:
    """See `strandline.changes.position.Position.link`."""
    return f"{source.file}:{source.pos}:{source.row}"


def _file_number(file: str) -> str:
    found = _FILE_NUMBER.search(file)
    if found is None or (found.start() and file[found.start() - 1].isdigit()):
        raise UnclearError
    return f"{int(found[1]):08x}"


def oracle(
    sources: Sequence[OracleSource], ops: Sequence[str], snapshots: Sequence[bool]
) -> Origins:
    """See `strandline.connectors.oracle`."""
    places = [
        source.scn if op == "r" and source.commit_scn is None else source.commit_scn
        for source, op in zip(sources, ops, strict=True)
    ]
    major = distinct(_system_change_number, places)
    require(
        of or source.commit_ts_ms is not None for of, source in zip(snapshots, sources, strict=True)
    )
    found = [
        (source.ts_us, source.ts_ms) if of else (None, source.commit_ts_ms)
        for of, source in zip(snapshots, sources, strict=True)
    ]
    require(pair != (None, None) for pair in found)
    return Origins(
        major=major,
        own=major,
        position=[place or "" for place in places],
        best=[ms * 1000 if us is None else us for us, ms in found],  # type: ignore[operator]
        quality=_qualities(snapshots),
        tx_id=[source.txId or None for source in sources],
    )


def _system_change_number(text: str | None) -> str:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > WIDTH:
        raise UnclearError
    if int(text) == 0:
        raise UnclearError  # of a transaction that nobody says the commit of
    return text.zfill(WIDTH)


def oracle_link(source: OracleSource) -> str:
    """See `strandline.changes.position.Position.link`."""
    at = source.commit_scn or source.scn or ""
    return f"{source.txId or None}:{at.zfill(WIDTH)}"


# By what `source.connector` says: the connector, its fields, what reads them, and what the two
# halves of a key move have in common.
READERS: dict[str, tuple[Connector, type[Source], Callable[..., Any], Callable[..., str]]] = {
    "postgresql": (CONNECTORS["postgresql"], PostgreSQLSource, postgresql, postgresql_link),
    "oracle": (CONNECTORS["oracle"], OracleSource, oracle, oracle_link),
    "mysql": (CONNECTORS["mysql"], MySQLSource, mysql, mysql_link),
    "mariadb": (CONNECTORS["mysql"], MySQLSource, mysql, mysql_link),
}
