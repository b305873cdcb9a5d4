"""A history of an engine against the truth: what a person needs to see where they differ."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from workloads.capture import Capture
from workloads.model import Key, Table
from workloads.truth import History, Version

Cells = Mapping[str, object]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENDED = ("valid_to", "closed_by", "moved_to")


def rows_by_topic(rows: Iterable[tuple[str, Cells]]) -> dict[str, list[Cells]]:
    """An engine's rows by topic, each in the engine's order."""
    found: dict[str, list[Cells]] = defaultdict(list)
    for topic, cells in rows:
        found[topic].append(cells)
    return found


def differences(capture: Capture, rows: Mapping[str, Sequence[Cells]]) -> list[str]:
    """Where the history is not what the workload did; empty where it is."""
    return [
        line
        for topic, history in capture.truth.items()
        if not history.doubtful
        for line in _table_differences(topic, history, rows.get(topic, ()))
    ]


def _table_differences(topic: str, history: History, rows: Sequence[Cells]) -> Iterator[str]:
    shown, visible = _by_key(history.table, rows), _visible(history, rows)
    for key in sorted({*history.versions, *shown}, key=repr):
        wanted = [_told(history, version) for version in visible.get(key, [])]
        found = [_shown(history, cells) for cells in shown.get(key, [])]
        if wanted != found:
            yield f"{topic} {key}:"
            yield from (f"  truth:  {each}" for each in wanted)
            yield from (f"  engine: {each}" for each in found)


def entity_differences(capture: Capture, rows: Mapping[str, Sequence[Cells]]) -> list[str]:
    """Where rows of one entity have two ids, or two entities one id."""
    found = []
    for topic, history in capture.truth.items():
        if history.doubtful:
            continue
        found_rows = rows.get(topic, ())
        shown = _by_key(history.table, found_rows)
        ids: dict[int, set[object]] = defaultdict(set)
        entities: dict[object, set[int]] = defaultdict(set)
        for key, versions in _visible(history, found_rows).items():
            for version, cells in zip(versions, shown.get(key, []), strict=False):
                ids[version.entity].add(cells["_entity_id"])
                entities[cells["_entity_id"]].add(version.entity)
        if any(len(each) > 1 for each in [*ids.values(), *entities.values()]):
            found.append(f"{topic}: ids of entities {dict(ids)}")
    return found


def ill_formed(rows: Mapping[str, Sequence[Cells]], keys: Mapping[str, Table]) -> list[str]:
    """Keys whose versions are out of order, overlap, or are open but not the last."""
    found = []
    for topic, table in keys.items():
        for key, versions in _by_key(table, rows.get(topic, ())).items():
            for one, two in zip(versions, [*versions[1:], None], strict=True):
                if not _follows(one, two):
                    found.append(f"{topic} {key}: {_span(one)} then {_span(two) if two else None}")
    return found


def _follows(one: Cells, two: Cells | None) -> bool:
    is_open = one["_seq_to"] is None
    agree = is_open is (one["_valid_to"] is None) is one["_is_current"]
    if two is None or is_open:
        return agree and two is None and (is_open or one["_seq_from"] <= one["_seq_to"])
    in_order = one["_seq_from"] <= one["_seq_to"] <= two["_seq_from"]
    in_time = one["_valid_from"] <= one["_valid_to"] <= two["_valid_from"]
    return agree and in_order and in_time and one["_seq_from"] < two["_seq_from"]


def _span(cells: Cells) -> str:
    return (
        f"[{cells['_seq_from']} {cells['_seq_to']}) [{cells['_valid_from']} {cells['_valid_to']})"
    )


def _by_key(table: Table, rows: Iterable[Cells]) -> dict[Key, list[Cells]]:
    found: dict[Key, list[Cells]] = defaultdict(list)
    for cells in rows:
        found[table.key_of(cells)].append(cells)
    return found


def _visible(history: History, rows: Sequence[Cells]) -> dict[Key, list[Version]]:
    """The true versions as far as rows can show them.

    Without schemas a column of which no value ever came is not there: whether its NULL was sent
    makes no version.
    """
    columns = {name for cells in rows for name in cells}
    found: dict[Key, list[Version]] = defaultdict(list)
    for key, versions in history.versions.items():
        for each in versions:
            version = replace(each, unavailable=each.unavailable & columns)
            former = found[key][-1] if found[key] else None
            if former is not None and _goes_on(former, version):
                ended = {name: getattr(version, name) for name in _ENDED}
                found[key][-1] = replace(former, **ended)
            else:
                found[key].append(version)
    return found


def _goes_on(former: Version, version: Version) -> bool:
    """True where nothing that can be seen tells a version of a row from the one before it."""
    same_row = version.op in {"u", "r"} and former.closed_by in {"update", "snapshot_correction"}
    return same_row and former.equals(version.row, version.unavailable)


def _told(history: History, version: Version) -> list[object]:
    told: list[object] = [
        [version.row[column.name] for column in history.table.columns],
        sorted(version.unavailable),
        version.op,
        version.closed_by,
        _key_cells(history.table, version.moved_from),
        _key_cells(history.table, version.moved_to),
    ]
    if history.timed:
        told += [_instant(version.valid_from), _instant(version.valid_to), version.quality]
    return told


def _shown(history: History, cells: Cells) -> list[object]:
    shown: list[object] = [
        [cells.get(column.name) for column in history.table.columns],
        sorted(cells["_unavailable"] or ()),
        _text(cells["_op"]),
        _text(cells["_closed_by"]),
        _parsed(cells["_moved_from"]),
        _parsed(cells["_moved_to"]),
    ]
    if history.timed:
        shown += [cells["_valid_from"], cells["_valid_to"], _text(cells["_ts_quality"])]
    return shown


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _parsed(key: object) -> object:
    return None if key is None else json.loads(str(key))


def _key_cells(table: Table, key: Key | None) -> object:
    return None if key is None else table.key_cells(key)


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
