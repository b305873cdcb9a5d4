"""Temporal values as structs of their parts (`time.precision.mode=structured`, Debezium 3.7).

Each becomes the text that the other precision modes would have sent, which then decodes as any
such text does. The parts: `year month day hour minute second`, `nanos` (later versions:
`picoseconds`), `offsetSeconds`, `zoneId`, and `specialValue` for infinities. A part that is
missing or no whole number raises KeyError or ValueError: the struct is no value of its type.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from strandline.cells.spelling import CLOCK_OF_24, OFFSET_TIME, Number
from strandline.cells.types import ColumnType, Kind

INFINITY = "infinity"

# The parts and their bits, as the schemas declare them.
TEMPORAL = {
    "year": 32, "month": 32, "day": 32, "hour": 32, "minute": 32, "second": 32,
    "nanos": 32, "picoseconds": 64, "offsetSeconds": 32,
}  # fmt: skip
PERIOD = {
    "years": 32, "months": 32, "days": 32, "hours": 32, "minutes": 32, "seconds": 64,
    "nanos": 32, "picoseconds": 64,
}  # fmt: skip


def iso(value: Any, of: ColumnType) -> str:
    """A date, local timestamp or instant as ISO text; a year outside 1..9999 is written 0000."""
    fields = document(value)
    parts = _parts(fields, TEMPORAL)
    if fields.get("specialValue") is not None:
        return INFINITY
    year = parts["year"] if 0 < parts["year"] <= 9999 else 0
    text = f"{year:04d}-{parts['month']:02d}-{parts['day']:02d}"
    if of.kind is not Kind.DATE:
        text += f"T{_clock(parts)}.{_picoseconds(parts):012d}"
    return text + _offset(fields, parts) if of.kind is Kind.INSTANT else text


def micros_of_day(value: Any) -> int:
    """A time of day in microseconds, up to 24:00:00."""
    parts = _parts(document(value), TEMPORAL)
    _matched(CLOCK_OF_24, f"{_clock(parts)}.{_picoseconds(parts):012d}")
    seconds = (parts["hour"] * 60 + parts["minute"]) * 60 + parts["second"]
    return seconds * 1_000_000 + _picoseconds(parts) // 1_000_000


def zoned_time(value: Any) -> str:
    """As `io.debezium.time.ZonedTime` writes it, with the source's offset: 12:13:14.5+09:00."""
    fields = document(value)
    parts = _parts(fields, TEMPORAL)
    fraction = f".{_picoseconds(parts):012d}".rstrip("0").rstrip(".")
    return _matched(OFFSET_TIME, _clock(parts) + fraction + _offset(fields, parts))


def interval(value: Any) -> str:
    """As `io.debezium.time.Interval` writes it, each part with its sign: P1Y2M3DT4H5M6.78S."""
    parts = _parts(document(value), PERIOD)
    picoseconds = parts["seconds"] * 10**12 + _picoseconds(parts)
    whole, fraction = divmod(abs(picoseconds), 10**12)
    seconds = f"{'-' if picoseconds < 0 else ''}{whole}.{fraction:012d}".rstrip("0").rstrip(".")
    return (
        f"P{parts['years']}Y{parts['months']}M{parts['days']}D"
        f"T{parts['hours']}H{parts['minutes']}M{seconds}S"
    )


def document(value: Any) -> Mapping[str, Any]:
    """A nested document, also one that was written as text."""
    found = json.loads(value, parse_float=Number) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise TypeError("not a struct")
    return found


def _parts(fields: Mapping[str, Any], bits: Mapping[str, int]) -> dict[str, int]:
    """The whole numbers among the fields; a missing one is missed where it is asked for."""
    found = {name: fields[name] for name in bits if fields.get(name) is not None}
    for name, part in found.items():
        if isinstance(part, bool) or not isinstance(part, int):
            raise TypeError(f"{name} is no integer")
        if not -(1 << bits[name] - 1) <= part < 1 << bits[name] - 1:
            raise ValueError(f"{name} is out of range")
    return found


def _picoseconds(parts: Mapping[str, int]) -> int:
    return parts.get("picoseconds", parts.get("nanos", 0) * 1000)


def _clock(parts: Mapping[str, int]) -> str:
    return f"{parts['hour']:02d}:{parts['minute']:02d}:{parts['second']:02d}"


def _offset(fields: Mapping[str, Any], parts: Mapping[str, int]) -> str:
    """Neither offset nor zone is UTC; a zone alone would need the zone's rules."""
    if "offsetSeconds" not in parts and fields.get("zoneId") is not None:
        raise ValueError("a zone without an offset")
    seconds = parts.get("offsetSeconds", 0)
    if seconds == 0:
        return "Z"
    minutes, rest = divmod(abs(seconds), 60)
    sign = "-" if seconds < 0 else "+"
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{rest:02d}" if rest else text


def _matched(pattern: str, text: str) -> str:
    if not re.fullmatch(pattern, text):
        raise ValueError("not a time")
    return text
