"""Conditions on one setting, or on all whose names have a form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from strandline.advice.conditions import wording
from strandline.advice.conditions.condition import Match
from strandline.advice.configuration import Configuration


@dataclass(frozen=True, slots=True)
class _Single:
    setting: str

    def names(self, _configuration: Configuration) -> Iterator[str]:
        yield self.setting


@dataclass(frozen=True, slots=True)
class Is(_Single):
    """The value is one of some."""

    values: tuple[str, ...]
    default: str | None = None

    @property
    def words(self) -> str:
        return wording.either(wording.code(self.values)) + wording.absent(
            self.default, self.default in self.values
        )

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting) or self.default
        if value is not None and wording.among(value, self.values):
            yield wording.match(configuration, self.setting, self.default)


@dataclass(frozen=True, slots=True)
class IsNot(_Single):
    """The value is none of those that are right; an absent one only where the default is wrong."""

    values: tuple[str, ...]
    default: str | None = None

    @property
    def words(self) -> str:
        wrong = self.default is not None and self.default not in self.values
        return f"anything but {wording.either(wording.code(self.values))}" + wording.absent(
            self.default, wrong
        )

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting) or self.default
        if value is not None and not wording.among(value, self.values):
            yield wording.match(configuration, self.setting, self.default)


@dataclass(frozen=True, slots=True)
class IsNotMadeOf(_Single):
    """The value is not the one that another setting makes: `form` has a place for it, `{}`."""

    other: str
    form: str

    @property
    def words(self) -> str:
        return (
            f"anything but {wording.either(wording.code((self.form.format(f'<{self.other}>'),)))}"
        )

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value, other = configuration.get(self.setting), configuration.get(self.other)
        if value is not None and other is not None and value != self.form.format(other):
            yield wording.match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Contains(_Single):
    """The value is a list that has one of some items."""

    listed: tuple[str, ...]
    default: str | None = None

    @property
    def words(self) -> str:
        return f"has {wording.either(wording.code(self.listed))}" + wording.absent(
            self.default, self.default in self.listed
        )

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        listed = configuration.items(self.setting) or (self.default or "",)
        if any(wording.among(item, self.listed) for item in listed):
            yield wording.match(configuration, self.setting, self.default)


@dataclass(frozen=True, slots=True)
class Lacks(_Single):
    """The value is a list in which one of some items is missing.

    An item is itself or one of the other spellings after it: (`source.ts_us`, `source.ts_ms`).
    """

    wanted: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> str:
        return "lacks " + wording.either(wording.code(spellings[0] for spellings in self.wanted))

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        # What ExtractNewRecordState renames (`field:name`) nobody finds again.
        listed = {item for item in configuration.items(self.setting) if ":" not in item}
        if not all(listed.intersection(spellings) for spellings in self.wanted):
            yield wording.match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Given(_Single):
    """The setting is there, whatever its value."""

    @property
    def words(self) -> str:
        return "set"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if configuration.get(self.setting) is not None:
            yield wording.match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Missing(_Single):
    """The setting is not there."""

    @property
    def words(self) -> str:
        return "absent"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if configuration.get(self.setting) is None:
            yield wording.match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Above(_Single):
    """The value is a whole number above a limit."""

    limit: int

    @property
    def words(self) -> str:
        return f"more than {self.limit}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting)
        if value is not None and re.fullmatch(r"[+]?\d{1,18}", value) and int(value) > self.limit:
            yield wording.match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class IsClass(_Single):
    """The value is a class that is one of some, or with `other` is none of them."""

    classes: tuple[str, ...]
    other: bool = False

    @property
    def words(self) -> str:
        return ("anything but " if self.other else "") + wording.named(self.classes)

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting)
        if value is not None and wording.same_class(value, self.classes) is not self.other:
            yield wording.match(configuration, self.setting, None)

    def names(self, configuration: Configuration) -> Iterator[str]:
        yield self.setting
        if self.other and any(self.matches(configuration)):  # its own settings say no more
            yield from (
                name for name in configuration.settings if name.startswith(f"{self.setting}.")
            )


@dataclass(frozen=True, slots=True)
class Named:
    """Settings whose names have a form; `pattern` is matched in full, `value` searched for."""

    setting: str
    pattern: str
    value: str = ""
    words: str = "set"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for name in self.names(configuration):
            if re.search(self.value, configuration.get(name) or "", re.IGNORECASE):
                yield wording.match(configuration, name, None)

    def names(self, configuration: Configuration) -> Iterator[str]:
        for name in sorted(configuration.settings):
            if configuration.get(name) and re.fullmatch(self.pattern, name, re.IGNORECASE):
                yield name


@dataclass(frozen=True, slots=True)
class Outside(_Single):
    """What history needs of the database and no configuration shows: found in every one."""

    @property
    def words(self) -> str:
        return "always: no configuration shows it"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if configuration.get(self.setting) is None:
            yield Match(self.setting, "not shown here")
