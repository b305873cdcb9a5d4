"""One table of a TOML document, read key by key: what nobody asked for is refused.

An object of a JSON document will do; its nulls are values of no type.

Errors repeat a value where that helps. They never do with one that stands where a table should be,
or inside of one: it may be a secret.
"""

import re
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

from strandline.errors import SpecError

_PLAIN = re.compile(r"[\w.$-]+")


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the TOML document, read key by key; `finish` refuses what nobody asked for."""

    path: Path
    title: str
    values: dict[str, Any]
    asked: dict[str, type] = field(default_factory=dict)

    def take(self, key: str, kind: type, default: Any = None, *, required: bool = False) -> Any:
        """The value of a key, which has to be of that type; the default where it is absent."""
        self.asked[key] = kind
        value = self.values.get(key, default)
        if value is None and required:
            raise SpecError(f"{self.path}: {self.title}: '{key}' is missing ({article(kind)})")
        given = value is not None or key in self.values
        if given and not _is(value, kind):
            unshown = kind is dict or isinstance(value, dict | list | date | time | None)
            raise SpecError(
                f"{self.path}: {self.title}: '{key}' must be {article(kind)}, not "
                f"{_what(value) if unshown else repr(value)}"
            )
        return value

    def positive(self, key: str, default: int | None = None) -> int:
        """A whole number of 1 or more; it may be absent where there is a default."""
        value: int = self.take(key, int, default, required=default is None)
        if value < 1:
            raise SpecError(f"{self.path}: {self.title}: '{key}' must be 1 or more, not {value}")
        return value

    def share(self, key: str, default: float | None = None) -> float | None:
        """A number from 0 to 1, written with or without a point."""
        self.asked[key] = float
        if key not in self.values:
            return default
        value = self.values[key]
        if not _is(value, int | float) or not 0 <= value <= 1:
            said = repr(value) if _is(value, int | float | str) else _what(value)
            raise SpecError(
                f"{self.path}: {self.title}: '{key}' must be a share from 0 to 1, such as 0.2, not "
                f"{said}"
            )
        return float(value)

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.take(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise SpecError(
                    f"{self.path}: {self.title}: '{key}' must hold strings only, not {_what(value)}"
                )
        return tuple(values)

    def mapping(self, key: str) -> dict[str, str]:
        """A table whose values are strings."""
        values: dict[str, Any] = self.take(key, dict, {})
        for name, value in values.items():
            if not isinstance(value, str):
                dots = "; put a name with dots in quotes" if isinstance(value, dict) else ""
                raise SpecError(
                    f"{self.path}: {self.title}: '{key}.{name}' must be a string, not "
                    f"{_what(value)}{dots}"
                )
        return dict(values)

    def section(self, key: str) -> "Section":
        """A table of its own, empty where there is none."""
        return Section(self.path, f"[{key}]", self.take(key, dict, {}))

    def within(self, key: str) -> "Section":
        """A table inside of this one, empty where there is none; errors name both."""
        return Section(self.path, f"{self.title}: {key}", self.take(key, dict, {}))

    def sections(self, key: str, named: str) -> "list[Section]":
        """The `[[key]]` sections, each titled by its value of `named` where that is a name."""
        found = []
        written = self.values.get(key)
        listed = [] if isinstance(written, dict) else self.take(key, list, [])
        if isinstance(written, dict) or not all(isinstance(each, dict) for each in listed):
            raise SpecError(f"{self.path}: write each {key} as a [[{key}]] section")
        for number, values in enumerate(listed, 1):
            name = str(values.get(named, number))
            title = f"[[{key}]] {name if _PLAIN.fullmatch(name) else number}"
            found.append(Section(self.path, title, values))
        return found

    def finish(self) -> None:
        """Refuses what nobody asked for."""
        for key in self.values:
            if key not in self.asked:
                raise SpecError(
                    f"{self.path}: {self.title}: unknown key '{key}'; "
                    f"allowed are {', '.join(sorted(self.asked))}"
                )


def _is(value: object, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _what(value: object) -> str:
    """What a value is, without the value."""
    return article(type(value))


def article(kind: type) -> str:
    """The type in words."""
    return {
        str: "a string",
        int: "a whole number",
        list: "a list",
        dict: "a table",
        bool: "true or false",
        NoneType: "null",
        float: "a number",
        date: "a date",
        time: "a time",
        datetime: "a date and time with its offset from UTC, such as 2026-09-21T00:00:00Z",
    }[kind]
