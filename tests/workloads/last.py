"""The last versions of keys in memory, as the law goes on from them, and what it makes of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from strandline.cells.instants import instant, micros
from strandline.changes.version import ClosedBy, TimeQuality, Version
from strandline.law.plain.continued import Heads, Onward
from strandline.law.versions import FIELDS


def heads(last: Sequence[Version], seen: Mapping[str, str | None], columns: Iterable[str]) -> Heads:
    """These, with what their keys have seen."""
    fields = {name: [_plainly(getattr(v, name)) for v in last] for name in FIELDS}
    business = [[v.row.get(name) for v in last] for name in columns]
    moments = [micros(v.recorded_at) for v in last]
    return Heads(fields, business, [seen.get(v.key) for v in last], moments)


def versions(
    made: Onward, topic: str, recorded_at: datetime
) -> tuple[dict[str, list[Version]], dict[str, str | None]]:
    """The versions by key, and what keys have seen."""
    found: dict[str, list[Version]] = defaultdict(list)
    seen: dict[str, str | None] = {}
    for n, key in enumerate(made.fields["key"]):
        cells = {name: own[n] for name, own in made.fields.items()}
        row = {name: own[n] for name, own in made.business.items()}
        found[key].append(_version(cells, row, topic, recorded_at))
        if made.is_last[n]:
            seen[key] = made.seen[n]
    return found, seen


def _plainly(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value


def _version(
    cells: Mapping[str, Any], row: dict[str, object], topic: str, recorded_at: datetime
) -> Version:
    times = {
        name: None if cells[name] is None else instant(cells[name])
        for name in ("valid_from", "valid_to", "source_ts")
    }
    how = cells["closed_by"]
    said = {**cells, **times, "closed_by": None if how is None else ClosedBy(how)}
    said["ts_quality"] = TimeQuality(cells["ts_quality"])
    return Version(row=row, topic=topic, recorded_at=recorded_at, **said)
