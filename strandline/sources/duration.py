"""Lengths of time as people write and read them: `90s`, `45m`, `2h`, `1d`, `1d 12h`."""

import re
from datetime import timedelta

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PART = re.compile(r"([0-9]{1,9})\s*([dhms])")
_WRITTEN = re.compile(rf"\s*{_PART.pattern}(?:\s+{_PART.pattern})*\s*")


def parse(text: str) -> timedelta:
    """The duration that is written; ValueError says how one is written."""
    if not _WRITTEN.fullmatch(text):
        raise ValueError(f"must be a duration such as 90s, 45m, 2h or 1d 12h, not {text!r}")
    seconds = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if not 0 < seconds <= 10_000 * _UNITS["d"]:
        raise ValueError(f"must be a duration from 1s to 10000d, not {text!r}")
    return timedelta(seconds=seconds)


def shown(length: timedelta) -> str:
    """The duration in its two greatest units: `1d 12h`, `3m 5s`, `0s`."""
    rest = max(int(length.total_seconds()), 0)
    parts: list[tuple[int, str]] = []
    for unit, seconds in _UNITS.items():
        number, rest = divmod(rest, seconds)
        if number or parts:
            parts.append((number, unit))
    words = [f"{number}{unit}" for number, unit in parts[:2] if number]
    return " ".join(words) or "0s"
