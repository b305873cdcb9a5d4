"""One record, as Kafka had it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strandline.alone.stores import tables
from strandline.cells import rendering
from strandline.runs.lake import SourceLake
from strandline_airflow.page.findings.texts import text

_SAMPLE = 240  # letters of a header
_WHOLE = 100_000  # letters of a key or value
_AT = (
    'SELECT * FROM stored WHERE topic = :topic AND "partition" = :partition AND "offset" = :offset'
)


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
            (each["key"], text(each["value"], _SAMPLE) or "") for each in row["headers"] or ()
        ),
        key=text(row["key"], _WHOLE),
        payload=_indented(row["value"], of="payload"),
        value=_indented(row["value"]),
        refused=refused,
    )


def _indented(value: bytes | None, of: str | None = None) -> str | None:
    """JSON with its lines indented where that keeps every digit; anything else as it is.

    `of` asks for one field of a document that has a schema beside it; None where it has none.
    """
    whole = text(value, _WHOLE)
    try:
        document = json.loads(whole or "", parse_float=_kept)
    except (ValueError, RecursionError):
        return None if of else whole
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
