"""The `source` of an event, for connectors whose well-formed ones are read by type.

One class a connector: the fields that it reads, as msgspec types, and what their columns say. What
is refused here, or does not fit, is left to the general decoder; what is said is what
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
from strandline.law.decode.typed.fields import Fields
from strandline.law.decode.typed.refusal import UnclearError, distinct, require

# PostgreSQL's `sequence`, with two positions, and with one; each as a number is written.
_POSITIONS = r'\["([1-9][0-9]{0,18})", ?"([1-9][0-9]{0,18})"\]'
_PAIR = re.compile(_POSITIONS).fullmatch
_PAIRS = re.compile(rf"^{_POSITIONS}$", re.MULTILINE).findall
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


def postgresql(fields: Fields, ops: Sequence[str], snapshots: Sequence[bool]) -> Origins:
    """See `strandline.connectors.postgresql`."""
    commits, texts = _positions(fields["source.sequence"], ops)
    numbers = list(map(int, texts))
    if max(numbers) >= _FAR:
        require(number < _FAR for number in numbers)
    said = fields["source.lsn"]
    if said != numbers:
        # Connectors 1.5 and 1.6 repeat one `sequence` for all changes of a transaction.
        require(lsn in (None, number) for lsn, number in zip(said, numbers, strict=True))
    ended = distinct(_log_number, commits)
    own = [f"{number:016x}" for number in numbers]
    return Origins(
        major=list(map(add, ended, own)),
        own=list(map(add, own, own)),
        position=[f"{commit}/{text}" for commit, text in zip(commits, texts, strict=True)],
        best=_micros(fields),
        quality=_qualities(snapshots),
        tx_id=distinct(_text, fields["source.txId"]),
    )


def _positions(sequences: Sequence[str], ops: Sequence[str]) -> tuple[list[str], list[str]]:
    """Where the transaction before each change ended, and where the change stands itself."""
    lines = "\n".join(sequences)
    pairs = _PAIRS(lines)
    if len(pairs) == len(sequences) == lines.count("\n") + 1:
        commits, texts = zip(*pairs, strict=True)
        return list(commits), list(texts)
    # One position alone is a read's; a change has none where its transaction is in flight.
    places = [
        _PAIR(sequence) or (_LONE(sequence) if op == "r" else None)
        for sequence, op in zip(sequences, ops, strict=True)
    ]
    require(places)
    return (
        [found[1] for found in places if found],
        [found[found.lastindex or 1] for found in places if found],
    )


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _log_number(text: str) -> str:
    """A position as digits that sort; only of 64 bits with a sign."""
    number = int(text)
    if number >= _FAR:
        raise UnclearError
    return f"{number:016x}"


def _micros(fields: Fields) -> list[int]:
    """From `ts_us` (since Debezium 2.6), else `ts_ms`."""
    found = fields["source.ts_us"]
    if None in found:
        pairs = list(zip(found, fields["source.ts_ms"], strict=True))
        require(pair != (None, None) for pair in pairs)
        return [ms * 1000 if us is None else us for us, ms in pairs]
    return list(found)


def _qualities(snapshots: Sequence[bool]) -> list[str]:
    return [_OF_SNAPSHOT if of else _OF_COMMIT for of in snapshots]


def postgresql_link(fields: Fields, n: int) -> str:
    """See `strandline.changes.position.Position.link`."""
    lsn = fields["source.sequence"][n].split('"')[-2]
    return f"{fields['source.txId'][n]}:{lsn}"


def mysql(fields: Fields, ops: Sequence[str], snapshots: Sequence[bool]) -> Origins:
    """See `strandline.connectors.mysql`."""
    del ops
    places, files = fields["source.pos"], fields["source.file"]
    if min(places) < 0 or max(places) >= _FAR:
        require(0 <= place < _FAR for place in places)
    major = [
        f"{number}{place:016x}"
        for number, place in zip(distinct(_file_number, files), places, strict=True)
    ]
    return Origins(
        major=major,
        own=major,
        position=[f"{file}:{place}" for file, place in zip(files, places, strict=True)],
        best=_micros(fields),
        quality=_mysql_qualities(fields, snapshots),
        tx_id=[gtid or None for gtid in fields["source.gtid"]],
    )


def _mysql_qualities(fields: Fields, snapshots: Sequence[bool]) -> list[str]:
    said = zip(
        snapshots, fields["source.connector"], fields["source.gtid"], fields["source.ts_us"],
        strict=True,
    )  # fmt: skip
    return [
        _OF_SNAPSHOT if snapshot
        else _OF_COMMIT if connector == "mysql" and gtid and micros
        else _STATEMENT
        for snapshot, connector, gtid, micros in said
    ]  # fmt: skip


def mysql_link(fields: Fields, n: int) -> str:
    """See `strandline.changes.position.Position.link`."""
    file, place, row = (fields[f"source.{name}"][n] for name in ("file", "pos", "row"))
    return f"{file}:{place}:{row}"


def _file_number(file: str) -> str:
    found = _FILE_NUMBER.search(file)
    if found is None or (found.start() and file[found.start() - 1].isdigit()):
        raise UnclearError
    return f"{int(found[1]):08x}"


def oracle(fields: Fields, ops: Sequence[str], snapshots: Sequence[bool]) -> Origins:
    """See `strandline.connectors.oracle`."""
    pairs = zip(fields["source.scn"], fields["source.commit_scn"], ops, strict=True)
    places = [
        scn if op == "r" and commit_scn is None else commit_scn for scn, commit_scn, op in pairs
    ]
    major = distinct(_system_change_number, places)
    committed = fields["source.commit_ts_ms"]
    require(of or at is not None for of, at in zip(snapshots, committed, strict=True))
    told = zip(snapshots, fields["source.ts_us"], fields["source.ts_ms"], committed, strict=True)
    found = [(us, ms) if of else (None, at) for of, us, ms, at in told]
    require(pair != (None, None) for pair in found)
    return Origins(
        major=major,
        own=major,
        position=[place or "" for place in places],
        best=[ms * 1000 if us is None else us for us, ms in found],
        quality=_qualities(snapshots),
        tx_id=[of or None for of in fields["source.txId"]],
    )


def _system_change_number(text: str | None) -> str:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > WIDTH:
        raise UnclearError
    if int(text) == 0:
        raise UnclearError  # of a transaction that nobody says the commit of
    return text.zfill(WIDTH)


def oracle_link(fields: Fields, n: int) -> str:
    """See `strandline.changes.position.Position.link`."""
    own = (fields[f"source.{name}"][n] for name in ("commit_scn", "scn", "txId"))
    commit_scn, scn, tx_id = own
    return f"{tx_id or None}:{(commit_scn or scn or '').zfill(WIDTH)}"


# By what `source.connector` says: the connector, its fields, what reads them, and what the two
# halves of a key move have in common.
READERS: dict[str, tuple[Connector, type[Source], Callable[..., Any], Callable[..., str]]] = {
    "postgresql": (CONNECTORS["postgresql"], PostgreSQLSource, postgresql, postgresql_link),
    "oracle": (CONNECTORS["oracle"], OracleSource, oracle, oracle_link),
    "mysql": (CONNECTORS["mysql"], MySQLSource, mysql, mysql_link),
    "mariadb": (CONNECTORS["mysql"], MySQLSource, mysql, mysql_link),
}
