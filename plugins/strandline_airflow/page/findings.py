"""What somebody looks up in the lake of a source: quarantined records, a key's story, one record.

Each takes a query or two that read narrow columns first: a page of a million records does not read
their bytes, and no table is read into memory.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from deltalake import DeltaTable

from strandline.alone.stores import tables
from strandline.cells import rendering
from strandline.changes.columns import KEY, MOVED_FROM, MOVED_TO, SEQ_FROM
from strandline.changes.version import INTERNAL_COLUMNS
from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.standing import TableStanding
from strandline.sources.nearness import nearest
from strandline.sources.source import Source
from strandline.timelines import lookup
from strandline.timelines.timeline import Timeline, timeline

SHOWN_VERSIONS = 300
_SHOWN_KEYS = 40  # of one story: a row may wander through any number
_NEAR = 1_000  # keys among which the closest to one that is not there is looked for
_SAMPLE = 240  # letters of a record on a page of many
_WHOLE = 100_000  # letters of one record
_AT = (
    'SELECT * FROM stored WHERE topic = :topic AND "partition" = :partition AND "offset" = :offset'
)
SHOWN_ROWS = 50
# Rows whose keys are told apart for the last ones that changed: a key may come often among them.
_LAST_ROWS = 500
_LAST = (
    "SELECT _key, _valid_from, _valid_to, _op, _closed_by, _moved_from, _moved_to FROM stored"
    " ORDER BY coalesce(_valid_to, _valid_from) DESC, _seq_from DESC LIMIT :most"
)
_AS_OF = (
    "SELECT * FROM stored WHERE _valid_from <= to_timestamp(:moment)"
    " AND (_valid_to > to_timestamp(:moment) OR _valid_to IS NULL) ORDER BY _key LIMIT :most"
)
_INTERNAL = frozenset(name for name, _ in INTERNAL_COLUMNS)


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


@dataclass(frozen=True, slots=True)
class Story:
    """The newest versions of a key and of the keys that its rows moved from and to.

    `versions` are as `strandline history` prints them; `total` counts those that there are.
    `refused` are records of the keys in quarantine.
    """

    key: str
    others: tuple[str, ...]
    timeline: Timeline
    versions: tuple[Mapping[str, Any], ...]
    total: int
    refused: int


@dataclass(frozen=True, slots=True)
class Landed:
    """One record as it lies in the landing table; texts, bytes that are none escaped.

    `value` is the whole of it, `payload` what is beside an embedded schema. `refused` says why it
    is in quarantine, None where it is not.
    """

    topic: str
    topic_id: str
    partition: int
    offset: int
    timestamp: str
    headers: tuple[tuple[str, str], ...]
    key: str | None
    payload: str | None
    value: str | None
    refused: str | None


def quarantined(
    lake: SourceLake, table: str, reason: str, size: int, skip: int
) -> tuple[Refused, ...]:
    """A page of the records of a table that could not be read, the newest run first.

    `reason` "" is any.
    """
    stored = tables.opened(lake.quarantine)
    if stored is None:
        return ()
    page = tables.rows(
        stored,
        'SELECT topic_id, "partition", "offset", run FROM stored'
        """ WHERE "table" = :table AND (:reason = '' OR reason = :reason)"""
        ' ORDER BY run DESC, topic_id, "partition", "offset" LIMIT :size OFFSET :skip',
        table=table, reason=reason, size=size, skip=skip,
    )  # fmt: skip
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
        key=row["record_key"] or _text(row["key"], _SAMPLE),
        sample=_text(row["value"], _SAMPLE),
    )


def closest(name: str, names: Iterable[str]) -> str:
    """What there is, the closest to the name first."""
    return nearest(name, list(names))


def how_to_spell(source: Source, table: TableStanding) -> str:
    """What to write to see a key of the table."""
    stored = _history(source, table)
    return f"Write a key of {table.table}, for example {_sample(stored, table)}"


def story(source: Source, table: TableStanding, key: str) -> Story:
    """The story of a key, in any spelling. Raises `SpecError` that says how one looks."""
    stored = _history(source, table)
    wanted = key if _is_there(stored, key) else lookup.like(key, _sample(stored, table))
    keys, versions = _related(stored, wanted)
    refused = _refused_of(SourceLake(source.lake, source.name), table.table, keys)
    if not versions:
        raise SpecError(_never_seen(stored, table, wanted, refused))
    versions.sort(key=lambda row: row[SEQ_FROM])
    shown = [_printed(table.topic, row) for row in versions[-SHOWN_VERSIONS:]]
    return Story(
        key=wanted,
        others=tuple(each for each in keys if each != wanted),
        timeline=timeline(shown, list(json.loads(wanted))),
        versions=tuple(shown),
        total=len(versions),
        refused=refused,
    )


def last_changed(source: Source, table: TableStanding) -> tuple[Mapping[str, Any], ...]:
    """The keys that changed last, each by the last that happened to it; the newest first."""
    found = tables.rows(_history(source, table), _LAST, most=_LAST_ROWS)
    newest: dict[str, Mapping[str, Any]] = {}
    for row in found:
        newest.setdefault(row[KEY], row)
    return tuple(newest.values())[:SHOWN_ROWS]


def as_of(source: Source, table: TableStanding, moment: datetime) -> tuple[Mapping[str, Any], ...]:
    """The first rows, by key, that stood at a moment; one more than are shown where there are."""
    text = moment.astimezone(UTC).isoformat()
    found = tables.rows(_history(source, table), _AS_OF, moment=text, most=SHOWN_ROWS + 1)
    return tuple({**_printed(table.topic, row), KEY: row[KEY]} for row in found)


def _history(source: Source, table: TableStanding) -> DeltaTable:
    """The history as it was published."""
    uri = SourceLake(source.lake, source.name).history(table.table)
    stored = tables.opened(uri, table.history_version) if table.history_version >= 0 else None
    if stored is None:
        raise SpecError(
            f"{table.table} has no published history yet: trigger compact__{source.name}"
            + (f". It is held: {table.held}" if table.held else "")
        )
    return stored


def _sample(stored: DeltaTable, table: TableStanding) -> str:
    """Some key of the table, canonical."""
    found = tables.rows(stored, "SELECT _key FROM stored LIMIT 1")
    if not found:
        raise SpecError(f"the history of {table.table} has no rows yet")
    return str(found[0][KEY])


def _is_there(stored: DeltaTable, key: str) -> bool:
    """Whether it is a key to the letter, as the page shows it, whatever the sample is like."""
    return bool(tables.rows(stored, "SELECT 1 FROM stored WHERE _key = :key LIMIT 1", key=key))


def _related(stored: DeltaTable, key: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The keys whose rows moved from or to a key, however far, and all their versions."""
    keys, fresh = [key], [key]
    versions: list[dict[str, Any]] = []
    while fresh:
        found = tables.rows(stored, "SELECT * FROM stored WHERE _key IN :keys", keys=fresh)
        versions += found
        reached = {row[way] for row in found for way in (MOVED_FROM, MOVED_TO)}
        fresh = sorted(reached - {None} - set(keys))[: _SHOWN_KEYS - len(keys)]
        keys += fresh
    return keys, versions


def _refused_of(lake: SourceLake, table: str, keys: Sequence[str]) -> int:
    stored = tables.opened(lake.quarantine)
    if stored is None:
        return 0
    sql = 'SELECT count(*) AS n FROM stored WHERE "table" = :table AND record_key IN :keys'
    return int(tables.rows(stored, sql, table=table, keys=keys)[0]["n"])


def _never_seen(stored: DeltaTable, table: TableStanding, key: str, refused: int) -> str:
    if refused:
        return (
            f"{table.table} has no version of {key}, but {refused:,} of its records are in "
            "quarantine: see there why they cannot be read"
        )
    sql = "SELECT DISTINCT _key FROM stored ORDER BY _key LIMIT :most"
    known = [row[KEY] for row in tables.rows(stored, sql, most=_NEAR)]
    among = "in a sample of its keys " if len(known) == _NEAR else ""
    return f"{table.table} has never seen a key {key}; {among}{nearest(key, known)}"


def _printed(topic: str, row: Mapping[str, Any]) -> dict[str, Any]:
    cells = {name: value for name, value in row.items() if name not in _INTERNAL}
    printed: dict[str, Any] = json.loads(rendering.line(topic, cells))
    return printed


def record(lake: SourceLake, topic: str, partition: int, offset: int) -> tuple[Landed, ...]:
    """The record at these coordinates; more than one where the topic was created anew."""
    stored = tables.opened(lake.landing)
    if stored is None:
        return ()
    place: dict[str, tables.Value] = {"topic": topic, "partition": partition, "offset": offset}
    found = tables.rows(stored, _AT, **place)
    refusals = tables.opened(lake.quarantine)
    why = [] if refusals is None else tables.rows(refusals, _AT, **place)
    reasons = {row["topic_id"]: f"{row['reason']}: {row['detail']}" for row in why}
    return tuple(_landed(row, reasons.get(row["topic_id"])) for row in found)


def _landed(row: Mapping[str, Any], refused: str | None) -> Landed:
    return Landed(
        topic=row["topic"],
        topic_id=row["topic_id"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp=str(rendering.plain(row["timestamp"]) or "none"),
        headers=tuple(
            (each["key"], _text(each["value"], _SAMPLE) or "") for each in row["headers"] or ()
        ),
        key=_text(row["key"], _WHOLE),
        payload=_indented(row["value"], of="payload"),
        value=_indented(row["value"]),
        refused=refused,
    )


def _text(value: bytes | None, letters: int) -> str | None:
    """Bytes as text, no longer than that; what is no UTF-8 as escapes."""
    if value is None:
        return None
    text = bytes(value[: letters * 4]).decode(errors="backslashreplace")
    return text if len(text) <= letters else text[:letters] + "…"


def _indented(value: bytes | None, of: str | None = None) -> str | None:
    """JSON with its lines indented where that keeps every digit; anything else as it is.

    `of` asks for one field of a document that has a schema beside it; None where it has none.
    """
    text = _text(value, _WHOLE)
    try:
        document = json.loads(text or "", parse_float=_kept)
    except (ValueError, RecursionError):
        return None if of else text
    if of:
        if not (isinstance(document, dict) and document.keys() == {"schema", of}):
            return None
        document = document[of]
    return json.dumps(document, indent=2, ensure_ascii=False)


def _kept(number: str) -> float:
    """A number that is printed as it was written; ValueError where it would not be."""
    if repr(float(number)) != number:
        raise ValueError(number)
    return float(number)
