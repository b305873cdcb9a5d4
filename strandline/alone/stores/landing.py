"""Landed records: how they lie in Delta tables, and those that a manifest pins."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import literal, opened, rows
from strandline.cells.instants import instant, micros
from strandline.changes.record import Coordinates, Record
from strandline.errors import Terminal
from strandline.law.landed import Headers, Landed
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, OffsetRange

# `timestamp` is Kafka's, null where the record has none, or one that no calendar has.
# `timestamp_type` says who set it: 0 nobody, 1 the producer, 2 the broker.
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
LANDING = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("topic_id", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", "UTC")),
        pa.field("timestamp_type", pa.int32()),
        pa.field("leader_epoch", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("landed_date", pa.date32(), nullable=False),
    ]
)
# What every table has of a record, whatever it has besides.
RECORD = [
    (name, LANDING.field(name).type)
    for name in ("topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers")
]
_APPLICATION = "strandline"  # of the transactions of runs
_AT_ONCE = 200  # ranges: of thousands in one condition the query engine's stack is not deep enough
_OF_TOPIC = """
    SELECT topic, topic_id, partition, "offset", timestamp, key, value, headers
    FROM stored WHERE topic = :topic
"""
_LANDED = f"""{_OF_TOPIC} AND topic_id = :topic_id AND (WITHIN) ORDER BY partition, "offset"
"""


def landed(uri: str, version: int, ranges: Iterable[OffsetRange]) -> list[Record]:
    """The records of the ranges, at that version of the landing table, in order of their places."""
    wanted = sorted(ranges, key=_incarnation)
    if not wanted:
        return []
    table = opened(uri, version)
    if table is None:
        raise Terminal(f"{uri}: there is no landing table, of which the manifest pins {version}")
    found: list[Record] = []
    for (topic, topic_id), own in groupby(wanted, _incarnation):
        pieces = sorted(own, key=_begin)
        for first in range(0, len(pieces), _AT_ONCE):
            sql = _LANDED.replace("WITHIN", _within(pieces[first : first + _AT_ONCE]))
            found += map(record, rows(table, sql, topic=topic, topic_id=topic_id))
    return found


def first(uri: str, version: int, ranges: Iterable[OffsetRange], most: int) -> list[Record]:
    """At most so many of the records that the first of the ranges begins with."""
    wanted = min(ranges, key=lambda of: (of.topic_id, of.partition, of.start), default=None)
    if wanted is None:
        return []
    return landed(uri, version, [replace(wanted, end=min(wanted.end, wanted.start + most))])


def landed_before(
    uri: str, version: int, topic: str, ranges: Iterable[OffsetRange]
) -> list[Record]:
    """The topic's records, at that version of the landing table, that lie in none of the ranges."""
    table = opened(uri, version)
    if table is None:
        return []
    found = [record(row) for row in rows(table, _OF_TOPIC, topic=topic)]
    of: dict[tuple[str, int], list[OffsetRange]] = defaultdict(list)
    for each in ranges:
        of[each.topic_id, each.partition].append(each)
    return [one for one in found if not any(_has(each, one.at) for each in of[one.at.log])]


def forget(manifest: Manifest, before: str) -> int:
    """Deletes records that were landed before that day and are applied, but for those refused.

    What lies in quarantine is read again one day.
    """
    lake = SourceLake(manifest.lake, manifest.source)
    table = opened(lake.landing)
    if table is None:
        return 0
    kept = _refused(lake.quarantine)
    count = 0
    wanted = sorted(forgettable(manifest), key=_incarnation)
    for (topic, topic_id), own in groupby(wanted, _incarnation):
        pieces = sorted(own, key=_begin)
        for first in range(0, len(pieces), _AT_ONCE):
            within = _within(pieces[first : first + _AT_ONCE])
            where = (
                f"topic = {literal(topic)} AND topic_id = {literal(topic_id)} AND ({within}) "
                f"AND landed_date < CAST({literal(before)} AS DATE)"
            )
            for partition, offsets in kept.get(topic_id, {}).items():
                places = literal(sorted(offsets))
                where += f' AND NOT (partition = {partition:d} AND "offset" IN {places})'
            with explained(lake.landing):
                count += table.delete(where)["num_deleted_rows"]
    return count


def forgettable(manifest: Manifest) -> Iterator[OffsetRange]:
    """What is applied, but for tables of the release before: those are made of it once more."""
    yield from manifest.control
    lake = SourceLake(manifest.lake, manifest.source)
    for cut in manifest.tables:
        own, others = (opened(path(cut.table)) for path in (lake.records, lake.changes))
        if _last_run(own) >= _last_run(others):
            yield from cut.ranges


def _last_run(table: DeltaTable | None) -> int:
    found = None if table is None else table.transaction_version(_APPLICATION)
    return -1 if found is None else found


def _refused(quarantine: str) -> Mapping[str, Mapping[int, set[int]]]:
    """The offsets of records in quarantine, by the incarnation of their topic and partition."""
    stored = opened(quarantine)
    sql = 'SELECT topic_id, partition, "offset" FROM stored'
    found: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in [] if stored is None else rows(stored, sql):
        found[row["topic_id"]][row["partition"]].add(row["offset"])
    return found


def _has(of: OffsetRange, at: Coordinates) -> bool:
    return of.start <= at.offset < of.end


def lie_at(places: Iterable[Coordinates]) -> str:
    """The condition that a row lies at one of the places."""
    logs: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at in places:
        logs[at.log].append(at.offset)
    found = (
        f"(topic_id = {literal(topic_id)} AND partition = {partition:d} "
        f'AND "offset" IN {literal(sorted(offsets))})'
        for (topic_id, partition), offsets in sorted(logs.items())
    )
    return " OR ".join(found) or "false"


def _begin(of: OffsetRange) -> tuple[int, int]:
    return of.partition, of.start


def _incarnation(of: OffsetRange) -> tuple[str, str]:
    return of.topic, of.topic_id


def _within(ranges: Iterable[OffsetRange]) -> str:
    return " OR ".join(
        f'partition = {of.partition:d} AND "offset" >= {of.start:d} AND "offset" < {of.end:d}'
        for of in ranges
    )


def cells(of: Record) -> dict[str, object]:
    """A record as its row has it."""
    return {
        "topic": of.at.topic,
        "topic_id": of.at.topic_id,
        "partition": of.at.partition,
        "offset": of.at.offset,
        "timestamp": instant(of.timestamp * 1000),
        "key": of.key,
        "value": of.value,
        "headers": [{"key": name, "value": data} for name, data in of.headers],
    }


def columns(rows: pa.Table, topic: str) -> Landed:
    """Such rows of a topic, which are in order of topic id, partition and offset, each once."""
    times = rows["timestamp"].cast(pa.int64()).to_pylist()
    return Landed(
        topic,
        rows["partition"].to_pylist(),
        rows["offset"].to_pylist(),
        [0 if time is None else time // 1000 for time in times],
        rows["key"].to_pylist(),
        rows["value"].to_pylist(),
        _headers(rows["headers"]),
        rows["topic_id"].to_pylist(),
    )


def _headers(column: pa.ChunkedArray) -> list[Headers]:
    """The headers of each record; most have none, and many have the same."""
    found: list[Headers] = [()] * len(column)
    each = column.combine_chunks().flatten()
    if not len(each):
        return found
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_pylist()
    names, values = each.field("key").to_pylist(), each.field("value").to_pylist()
    place = 0
    for n, count in enumerate(lengths):
        if count:
            end = place + count
            found[n] = tuple(zip(names[place:end], values[place:end], strict=True))
            place = end
    return found


def record(row: Mapping[str, Any]) -> Record:
    """The record of such a row, which may lack key and headers.

    One that Kafka has no time of has the first of all times, as everywhere.
    """
    at = Coordinates(row["topic"], row["partition"], row["offset"], row["topic_id"])
    stored = 0 if row["timestamp"] is None else micros(row["timestamp"]) // 1000
    headers = tuple((each["key"], each["value"]) for each in row.get("headers") or ())
    return Record(at, stored, row.get("key"), row["value"], headers)
