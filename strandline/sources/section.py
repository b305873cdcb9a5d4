"""One table of a TOML document, read key by key: what nobody asked for is refused.

An object of a JSON document will do; its nulls are values of no type. What is wrong is noted, and a
value that will do stands for it, so that the rest is read too: `Mistakes.tell` refuses it all.

Mistakes repeat a value where that helps. They never do with one that stands where a table should
be, or inside of one: it may be a secret.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType, NoneType, UnionType
from typing import Any

from strandline.sources import duration
from strandline.sources.mistakes import Mistakes

_PLAIN = re.compile(r"[\w.$-]+")
_NO_HINTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the TOML document, read key by key; `finish` refuses what nobody asked for."""

    mistakes: Mistakes
    title: str
    values: dict[str, Any]
    asked: dict[str, type] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def refuse(self, key: str, text: str) -> None:
        """Notes what is wrong with a key. Of what is wrong already nothing follows."""
        if key not in self.refused:
            self.refused.add(key)
            self.note(f"'{key}' {text}")

    def note(self, text: str) -> None:
        """Notes what is wrong with the section."""
        self.mistakes.note(f"{self.title}: {text}")

    def take(self, key: str, kind: type, default: Any = None, *, required: bool = False) -> Any:
        """The value of a key, which has to be of that type; the default where it is absent."""
        self.asked[key] = kind
        value = self.values.get(key, default)
        given = value is not None or key in self.values
        if value is None and required:
            self.refuse(key, f"is missing ({article(kind)})")
        elif given and not _is(value, kind):
            unshown = kind is dict or isinstance(value, dict | list | date | time | None)
            said = _what(value) if unshown else repr(value)
            self.refuse(key, f"must be {article(kind)}, not {said}")
            value = default
        return _nothing(kind) if value is None and required else value

    def number(
        self, key: str, least: int, most: int | None = None, *, default: int | None = None
    ) -> int:
        """A whole number from `least` on, or to `most`; it may be absent where there is a default.

        Where it is refused, the default or `least`.
        """
        value: int = self.take(key, int, default, required=default is None)
        if least <= value and (most is None or value <= most):
            return value
        span = f"{least} or more" if most is None else f"{least} to {most}"
        self.refuse(key, f"must be {span}, not {value}")
        return least if default is None else default

    def share(self, key: str, default: float | None = None) -> float | None:
        """A number from 0 to 1, written with or without a point."""
        self.asked[key] = float
        if key not in self.values:
            return default
        value = self.values[key]
        if _is(value, int | float) and 0 <= value <= 1:
            return float(value)
        said = repr(value) if _is(value, int | float | str) else _what(value)
        self.refuse(key, f"must be a share from 0 to 1, such as 0.2, not {said}")
        return default

    def duration(self, key: str) -> timedelta | None:
        """A length of time, such as `2h`; None where there is none that will do."""
        text = self.take(key, str)
        try:
            return None if text is None else duration.parse(text)
        except ValueError as error:
            self.refuse(key, str(error))
            return None

    def choice(
        self, key: str, allowed: Collection[str], default: str, hints: Mapping[str, str] = _NO_HINTS
    ) -> str:
        """One of the words; a hint says what to do instead of another one."""
        value: str = self.take(key, str, default)
        if value in allowed:
            return value
        few = " or ".join(allowed) if len(allowed) <= 2 else f"one of {', '.join(allowed)}"
        self.refuse(key, f"must be {few}, not {value!r}{hints.get(value, '')}")
        return default

    def connection(self, default: str | None = None) -> str:
        """The id of an Airflow connection."""
        value: str = self.take("connection", str, default, required=default is None)
        if not value.strip():
            self.refuse("connection", "is empty: name an Airflow connection")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.take(key, list, [])
        for value in values:
            if not isinstance(value, str):
                self.refuse(key, f"must hold strings only, not {_what(value)}")
        return tuple(value for value in values if isinstance(value, str))

    def mapping(self, key: str) -> dict[str, str]:
        """A table whose values are strings."""
        values: dict[str, Any] = self.take(key, dict, {})
        for name, value in values.items():
            if not isinstance(value, str):
                dots = "; put a name with dots in quotes" if isinstance(value, dict) else ""
                self.refuse(f"{key}.{name}", f"must be a string, not {_what(value)}{dots}")
        return {name: value for name, value in values.items() if isinstance(value, str)}

    def section(self, key: str) -> "Section":
        """A table of its own, empty where there is none."""
        return Section(self.mistakes, f"[{key}]", self.take(key, dict, {}))

    def within(self, key: str) -> "Section":
        """A table inside of this one, empty where there is none; mistakes name both."""
        return Section(self.mistakes, f"{self.title}: {key}", self.take(key, dict, {}))

    def sections(self, key: str, named: str) -> "list[Section]":
        """The `[[key]]` sections, each titled by its value of `named` where that is a name."""
        found = []
        written = self.values.get(key)
        listed = [] if isinstance(written, dict) else self.take(key, list, [])
        if isinstance(written, dict) or not all(isinstance(each, dict) for each in listed):
            self.asked[key] = list
            self.mistakes.note(f"write each {key} as a [[{key}]] section")
            listed = []
        for number, values in enumerate(listed, 1):
            name = str(values.get(named, number))
            title = f"[[{key}]] {name if _PLAIN.fullmatch(name) else number}"
            found.append(Section(self.mistakes, title, values))
        return found

    def finish(self) -> None:
        """Refuses what nobody asked for."""
        for key in self.values:
            if key not in self.asked:
                self.note(f"unknown key '{key}'; allowed are {', '.join(sorted(self.asked))}")


def _is(value: object, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _nothing(kind: type) -> Any:
    """What stands for a value that has to be there and is not."""
    return datetime.min.replace(tzinfo=UTC) if kind is datetime else kind()


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
