"""Records in quarantine, a page at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow.compute as pc

from strandline.alone.stores import tables
from strandline.runs.lake import SourceLake
from strandline_airflow.page.findings.texts import text

_SAMPLE = 240  # letters of a record
_OF = """ WHERE "table" = :table AND (:reason = '' OR reason = :reason)"""
_ORDER = [
    ("run", "descending"),
    ("topic_id", "ascending"),
    ("partition", "ascending"),
    ("offset", "ascending"),
]


@dataclass(frozen=True, slots=True)
class Refused:
    """A record in quarantine. `sample` is the start of its value, None where it has none."""

    topic: str
    partition: int
    offset: int
    run: int
    reason: str
    detail: str
    key: str | None
    sample: str | None


def quarantined(
    lake: SourceLake, table: str, reason: str, size: int, skip: int
) -> tuple[Refused, ...]:
    """A page of the records of a table that could not be read, the newest run first.

    `reason` "" is any. Of the runs before the page only the number of their records is read.
    """
    stored = tables.opened(lake.quarantine)
    if stored is None:
        return ()
    asked = lake.quarantine, str(stored.metadata().id), stored.version(), table, reason
    newest, oldest, left = _span(_by_run(*asked), size, skip)
    narrow = tables.selected(
        stored,
        f'SELECT topic_id, "partition", "offset", run FROM stored{_OF}'  # noqa: S608 - own words
        " AND run BETWEEN :oldest AND :newest",
        table=table, reason=reason, oldest=oldest, newest=newest,
    )  # fmt: skip
    page = narrow.take(pc.sort_indices(narrow, _ORDER)[left : left + size]).to_pylist()
    if not page:
        return ()
    offsets, runs = [row["offset"] for row in page], [row["run"] for row in page]
    found = tables.rows(
        stored,
        'SELECT * FROM stored WHERE "table" = :table AND run BETWEEN :first AND :last'
        ' AND "offset" BETWEEN :low AND :high AND "offset" IN :offsets',
        table=table, first=min(runs), last=max(runs), low=min(offsets), high=max(offsets),
        offsets=offsets,
    )  # fmt: skip
    records = {_place(row): row for row in found}
    return tuple(_refused(records[_place(row)]) for row in page)


def refused_of(lake: SourceLake, table: str, keys: Sequence[str]) -> int:
    """How many records of these keys are in quarantine."""
    stored = tables.opened(lake.quarantine)
    if stored is None:
        return 0
    sql = 'SELECT count(*) AS n FROM stored WHERE "table" = :table AND record_key IN :keys'
    return int(tables.rows(stored, sql, table=table, keys=keys)[0]["n"])


@lru_cache(maxsize=64)
def _by_run(
    uri: str, _identity: str, version: int, table: str, reason: str
) -> tuple[tuple[int, int], ...]:
    """How many records of a table each run has refused, the newest first."""
    stored = tables.opened(uri, version)
    sql = f"SELECT run, count(*) AS records FROM stored{_OF} GROUP BY run ORDER BY run DESC"  # noqa: S608
    found = [] if stored is None else tables.rows(stored, sql, table=table, reason=reason)
    return tuple((row["run"], row["records"]) for row in found)


def _span(by_run: Sequence[tuple[int, int]], size: int, skip: int) -> tuple[int, int, int]:
    """The newest and the oldest run that a page has records of, and how many it skips of these."""
    before, newest, left = 0, -1, 0
    for run, records in by_run:
        if newest < 0 and before + records > skip:
            newest, left = run, skip - before
        before += records
        if before >= skip + size:
            return newest, run, left
    return newest, by_run[-1][0] if by_run else 0, left


def _place(row: Mapping[str, Any]) -> tuple[object, ...]:
    return row["topic_id"], row["partition"], row["offset"], row["run"]


def _refused(row: Mapping[str, Any]) -> Refused:
    return Refused(
        topic=row["topic"],
        partition=row["partition"],
        offset=row["offset"],
        run=row["run"],
        reason=row["reason"],
        detail=row["detail"],
        key=row["record_key"] or text(row["key"], _SAMPLE),
        sample=text(row["value"], _SAMPLE),
    )
