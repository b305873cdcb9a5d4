"""What happened in a table: the keys that changed last, rows at a moment, and one change.

Nothing here sorts a history, or reads one whole where its files say which times they hold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from deltalake import DeltaTable

from strandline.alone.stores import tables
from strandline.changes.columns import CLOSED_BY, KEY, SEQ_FROM, SEQ_TO, VALID_FROM, VALID_TO
from strandline.changes.position import is_placed, major_of
from strandline.changes.version import ClosedBy
from strandline.errors import SpecError
from strandline.runs.standing import TableStanding
from strandline.sources.source import Source
from strandline_airflow.page.findings.history import history, printed

SHOWN = 50  # rows, keys
SHOWN_VERSIONS = 200  # of one change
# Rows whose keys are told apart for the last ones that changed: a key may come often among them.
_LAST_ROWS = 500
_FIRST_SPAN, _GROWTH = timedelta(minutes=1), 32
_LAST = (
    "SELECT _key, _valid_from, _valid_to, _op, _closed_by, _moved_from, _moved_to, _seq_from,"
    " _seq_to FROM stored"
    " WHERE (_valid_from >= to_timestamp(:since) OR _valid_to >= to_timestamp(:since))"
    " AND (_closed_by IS NULL OR _closed_by <> 'truncate')"
    " ORDER BY coalesce(_valid_to, _valid_from) DESC, _seq_from DESC LIMIT :most"
)
_FENCES = (
    "SELECT _seq_to, max(_valid_to) AS _valid_to, count(*) AS versions FROM stored"
    " WHERE _closed_by = 'truncate' AND _valid_to >= to_timestamp(:since)"
    " GROUP BY _seq_to ORDER BY 2 DESC LIMIT :most"
)
_AS_OF = (
    "SELECT * FROM stored WHERE _valid_from <= to_timestamp(:moment)"
    " AND (_valid_to > to_timestamp(:moment) OR _valid_to IS NULL) ORDER BY _key LIMIT :most"
)
_AT = "((_seq_to >= :first AND _seq_to <= :last) OR (_seq_from >= :first AND _seq_from <= :last))"


@dataclass(frozen=True, slots=True)
class Happened:
    """The last that happened to a key; where a table was truncated `versions` counts what ended."""

    at: datetime
    seq: str
    row: Mapping[str, Any]
    versions: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What one place in the source's log did to a table.

    `ended` and `began` count versions; `versions` are the first of them, by key, each with whether
    it was `_ended` there and whether it `_began` there.
    """

    at: datetime
    position: str
    ended: int
    began: int
    versions: tuple[Mapping[str, Any], ...]


def last_changed(source: Source, table: TableStanding) -> tuple[Happened, ...]:
    """The keys that changed last, each by the last that happened to it, and the last truncates.

    The newest first. Looks at a minute before the newest change, then at more and more, until that
    is enough.
    """
    stored = history(source, table)
    found: dict[str, Happened] = {}
    for since in _windows(stored):
        asked: dict[str, tables.Value] = {"since": since.isoformat(), "most": _LAST_ROWS}
        found = {}
        for row in tables.rows(stored, _FENCES, **asked):
            found[row[SEQ_TO]] = Happened(row[VALID_TO], row[SEQ_TO], row, row["versions"])
        for row in tables.rows(stored, _LAST, **asked):
            at = row[VALID_TO] or row[VALID_FROM]
            found.setdefault(row[KEY], Happened(at, row[SEQ_TO] or row[SEQ_FROM], row))
        if len(found) >= SHOWN:
            break
    return tuple(sorted(found.values(), key=lambda each: each.at, reverse=True)[:SHOWN])


def _windows(stored: DeltaTable) -> Iterator[datetime]:
    """Where to begin to look for the last changes: each time further back, at last at the start."""
    sql = "SELECT min(_valid_from) AS first, max(_valid_from) AS began, max(_valid_to) AS ended"
    (times,) = tables.rows(stored, f"{sql} FROM stored")
    if times["first"] is None:
        return
    newest = max(filter(None, (times["began"], times["ended"])))
    span = _FIRST_SPAN
    while newest - span > times["first"]:
        yield newest - span
        span *= _GROWTH
    yield times["first"]


def as_of(source: Source, table: TableStanding, moment: datetime) -> tuple[Mapping[str, Any], ...]:
    """The first rows, by key, that stood at a moment; one more than are shown where there are."""
    text = moment.astimezone(UTC).isoformat()
    found = tables.rows(history(source, table), _AS_OF, moment=text, most=SHOWN + 1)
    return tuple({**printed(table.topic, row), KEY: row[KEY]} for row in found)


def change(source: Source, table: TableStanding, seq: str) -> Change:
    """What the change at this `_seq_from` or `_seq_to` did, and whatever shares its place.

    The two halves of a move, and all rows of a statement that has one place, are told together.
    """
    stored = history(source, table)
    major = major_of(seq)
    first, last = (major, f"{major}g") if is_placed(major) else (seq, seq)
    place = {"first": first, "last": last}
    (counts,) = tables.rows(
        stored,
        "SELECT count(*) FILTER (WHERE _seq_to >= :first AND _seq_to <= :last) AS ended,"  # noqa: S608
        " count(*) FILTER (WHERE _seq_from >= :first AND _seq_from <= :last) AS began,"
        f" max(CASE WHEN _seq_from >= :first THEN _valid_from ELSE _valid_to END) AS at"
        f" FROM stored WHERE {_AT}",
        **place,
    )
    if counts["at"] is None:
        raise SpecError(
            f"nothing of {table.table} began or ended at {seq}: open a version's own link, or look "
            "at the keys that changed last"
        )
    found = tables.rows(
        stored,
        f"SELECT * FROM stored WHERE {_AT} ORDER BY _key, _seq_from LIMIT :most",  # noqa: S608
        most=SHOWN_VERSIONS, **place,
    )  # fmt: skip
    began = [row for row in found if first <= row[SEQ_FROM] <= last]
    return Change(
        at=counts["at"],
        position=str(began[0]["_position"]) if began else "",
        ended=counts["ended"],
        began=counts["began"],
        versions=tuple(
            {
                **printed(table.topic, row),
                KEY: row[KEY],
                "_ended": bool(row[SEQ_TO]) and first <= row[SEQ_TO] <= last,
                "_began": first <= row[SEQ_FROM] <= last,
            }
            for row in found
        ),
    )


def reaches_others(row: Mapping[str, Any]) -> bool:
    """Whether what ended or began a version may have done something to other keys, too."""
    across = {ClosedBy.TRUNCATE, ClosedBy.KEY_MOVE, ClosedBy.SNAPSHOT_ABSENT}
    return row[CLOSED_BY] in across or row["_moved_from"] is not None
