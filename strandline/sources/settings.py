"""`[settings]`: what the connector was set to, in its own words, where records do not show it."""

from collections.abc import Iterator, Mapping
from typing import Any

from strandline.cells.modes import MODES
from strandline.sources.nearness import nearest
from strandline.sources.section import Section, article


def of(section: Section) -> tuple[tuple[str, str], ...]:
    """The settings as (property, value), in the order of their names.

    A property is written as in a file of properties, `binary.handling.mode = "hex"`, which TOML
    reads as tables in tables, or in quotes.
    """
    found = dict(_flat(section.values))
    for name, value in found.items():
        allowed = MODES.get(name)
        if allowed is None:
            section.note(
                f"unknown key '{name}'; {nearest(name, MODES)}. Only what records do not show is "
                f"asked for: allowed are {', '.join(sorted(MODES))}"
            )
        elif not isinstance(value, str):
            section.refuse(name, f"must be a string, not {article(type(value))}")
        elif value not in allowed:
            section.refuse(name, f"must be one of {', '.join(allowed)}, not {value!r}")
    return tuple(sorted(found.items()))


def same(said: str, meant: str) -> bool:
    """True where two words for a mode mean one: `base64` is how `bytes` are written in JSON."""
    return said == meant or {said, meant} == {"bytes", "base64"}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
