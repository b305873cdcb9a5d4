"""Images as they tell rows apart: which of the rows under one key a change is of.

An image holds the cells as they were sent, without the key, which all those rows share, and without
what the connector left out (LOBs, TOAST). So two images of one row may hold different columns.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from struct import pack

Image = Mapping[str, object]

# What fills a column that is NOT NULL and not in the log (docs/facts/order.md, "Before images"),
# besides what is false in JSON: zero as a decimal, as an hstore, as a date, a time, a timestamp and
# an interval.
FALLBACK = re.compile(
    r"0(\.0+)?|AA==|\{\}|1970-01-01(T00:00:00)?Z|00:00:00Z|P0Y0M0DT0H0M0S", re.ASCII
)


def _wkb(kind: int, *counts: int, points: Sequence[int] = ()) -> str:
    """A shape in OGC's Well-Known Binary: its kind, its numbers of parts, its coordinates."""
    data = pack(f"<B{1 + len(counts)}I{len(points)}d", 1, kind, *counts, *points)
    return b64encode(data).decode()


# What fills a column of shapes: PostGIS' empty collection; a point; since Debezium 3.7 a segment
# or path, a box, a polygon (PostgresValueConverter.geometryFallback).
SHAPES = (
    _wkb(7, 0),
    _wkb(1, points=(0, 0)),
    _wkb(2, 2, points=(0, 0, 1, 0)),
    _wkb(3, 1, 5, points=(0, 0, 0, 1, 1, 1, 1, 0, 0, 0)),
    _wkb(3, 1, 4, points=(0, 0, 1, 0, 0, 1, 0, 0)),
)
# Of a line the first two coefficients are never both zero.
_LINE = {"a": 0, "b": 1, "c": 0}


def alike(one: Image, other: Image) -> bool:
    """True where no column that both hold tells them apart."""
    return all(one[name] == other[name] for name in one.keys() & other.keys())


def certain(image: Image, defaults: Mapping[str, object]) -> Image | None:
    """The cells that say what the row was, of an image that may hold the key only; None: nothing.

    NULLs, fallbacks and defaults of columns may stand in for what is not in the log.
    """
    return {
        name: value
        for name, value in image.items()
        if not _stands_in(value) and value != defaults.get(name)
    } or None


def _stands_in(value: object) -> bool:
    if isinstance(value, Mapping) and not _is_shape(value):
        return all(map(_is_fallback, value.values()))
    return _is_fallback(value)


def _is_fallback(value: object) -> bool:
    """Of a column, or of a field of a struct: the fallback of a struct holds no other struct."""
    if isinstance(value, str):
        return not value or FALLBACK.fullmatch(value) is not None
    if isinstance(value, Mapping):
        return _is_shape(value)
    return not value


def _is_shape(value: Mapping[str, object]) -> bool:
    return value.get("wkb") in SHAPES or value == _LINE
