"""Conditions: when a rule finds something, in a form that can be checked and read.

`matches` gives the settings of a configuration that meet it; `setting` and `words` say the same to
a person, so that the page of rules cannot differ from what is checked. Values are compared without
regard to case, as Debezium's enumerations are. `default` is what the connector takes where the
setting is absent.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from strandline.advice import redaction
from strandline.advice.configuration import Configuration


@dataclass(frozen=True, slots=True)
class Match:
    """A setting that meets a condition and its value, both fit to print."""

    setting: str
    value: str


class Condition(Protocol):
    """When a rule finds something."""

    @property
    def setting(self) -> str:
        """The setting that it is about, for the page of rules."""

    @property
    def words(self) -> str:
        """What it says of the value, for the page of rules."""

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        """The settings that meet it; none where the configuration is all right."""


def met(condition: Condition, configuration: Configuration) -> bool:
    """True where any setting meets the condition."""
    return any(True for _ in condition.matches(configuration))


@dataclass(frozen=True, slots=True)
class Is:
    """The value is one of some."""

    setting: str
    values: tuple[str, ...]
    default: str | None = None

    @property
    def words(self) -> str:
        return _or(_code(self.values)) + _absent(self.default, self.default in self.values)

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting) or self.default
        if value is not None and _among(value, self.values):
            yield _match(configuration, self.setting, self.default)


@dataclass(frozen=True, slots=True)
class IsNot:
    """The value is none of those that are right; an absent one only where the default is wrong."""

    setting: str
    values: tuple[str, ...]
    default: str | None = None

    @property
    def words(self) -> str:
        wrong = self.default is not None and self.default not in self.values
        return f"anything but {_or(_code(self.values))}" + _absent(self.default, wrong)

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting) or self.default
        if value is not None and not _among(value, self.values):
            yield _match(configuration, self.setting, self.default)


@dataclass(frozen=True, slots=True)
class IsNotMadeOf:
    """The value is not the one that another setting makes: `form` has a place for it, `{}`."""

    setting: str
    other: str
    form: str

    @property
    def words(self) -> str:
        return f"anything but {_or(_code((self.form.format(f'<{self.other}>'),)))}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value, other = configuration.get(self.setting), configuration.get(self.other)
        if value is not None and other is not None and value != self.form.format(other):
            yield _match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Contains:
    """The value is a list that has one of some items."""

    setting: str
    listed: tuple[str, ...]
    default: str | None = None

    @property
    def words(self) -> str:
        return f"has {_or(_code(self.listed))}" + _absent(self.default, self.default in self.listed)

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        listed = configuration.items(self.setting) or (self.default or "",)
        if any(_among(item, self.listed) for item in listed):
            yield _match(configuration, self.setting, self.default)


@dataclass(frozen=True, slots=True)
class Lacks:
    """The value is a list in which one of some items is missing.

    An item is itself or one of the other spellings after it: (`source.ts_us`, `source.ts_ms`).
    """

    setting: str
    wanted: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> str:
        return "lacks " + _or(_code(spellings[0] for spellings in self.wanted))

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        # What ExtractNewRecordState renames (`field:name`) nobody finds again.
        listed = {item for item in configuration.items(self.setting) if ":" not in item}
        if not all(listed.intersection(spellings) for spellings in self.wanted):
            yield _match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Given:
    """The setting is there, whatever its value."""

    setting: str

    @property
    def words(self) -> str:
        return "set"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if configuration.get(self.setting) is not None:
            yield _match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Missing:
    """The setting is not there."""

    setting: str

    @property
    def words(self) -> str:
        return "absent"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if configuration.get(self.setting) is None:
            yield _match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Above:
    """The value is a whole number above a limit."""

    setting: str
    limit: int

    @property
    def words(self) -> str:
        return f"more than {self.limit}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting)
        if value is not None and re.fullmatch(r"[+]?\d{1,18}", value) and int(value) > self.limit:
            yield _match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class IsClass:
    """The value is a class that is one of some, or with `other` is none of them."""

    setting: str
    classes: tuple[str, ...]
    other: bool = False

    @property
    def words(self) -> str:
        return ("anything but " if self.other else "") + _named(self.classes)

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        value = configuration.get(self.setting)
        if value is not None and _same_class(value, self.classes) is not self.other:
            yield _match(configuration, self.setting, None)


@dataclass(frozen=True, slots=True)
class Named:
    """Settings whose names have a form; `pattern` is matched in full, `value` searched for."""

    setting: str
    pattern: str
    value: str = ""
    words: str = "set"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for name in sorted(configuration.settings):
            value = configuration.get(name)
            if value is None or not re.fullmatch(self.pattern, name, re.IGNORECASE):
                continue
            if re.search(self.value, value, re.IGNORECASE):
                yield _match(configuration, name, None)


@dataclass(frozen=True, slots=True)
class Outside:
    """What history needs of the database and no configuration shows: found in every one."""

    setting: str

    @property
    def words(self) -> str:
        return "always: no configuration shows it"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if configuration.get(self.setting) is None:
            yield Match(self.setting, "not shown here")


@dataclass(frozen=True, slots=True)
class Where:
    """A condition that counts only where others are met as well."""

    condition: Condition
    others: tuple[Condition, ...]

    @property
    def setting(self) -> str:
        return self.condition.setting

    @property
    def words(self) -> str:
        others = " and ".join(f"`{other.setting}` is {other.words}" for other in self.others)
        return f"{self.condition.words}, where {others}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        if all(met(other, configuration) for other in self.others):
            yield from self.condition.matches(configuration)


@dataclass(frozen=True, slots=True)
class Kind:
    """How Connect and Debezium name a list of parts and the settings of each."""

    setting: str
    prefixes: tuple[str, ...]

    def parts(self, configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
        """The prefix of each part's settings, and those settings without it."""
        for name in configuration.items(self.setting):
            for prefix in (prefix.format(name) for prefix in self.prefixes):
                if f"{prefix}type" in configuration.settings:
                    yield prefix, configuration.under(prefix)


TRANSFORMS = Kind("transforms", ("transforms.{}.",))
POST_PROCESSORS = Kind("post.processors", ("{}.", "post.processors.{}."))
CONVERTERS = Kind("converters", ("{}.",))


@dataclass(frozen=True, slots=True)
class Part:
    """A transformation, post-processor or converter of one of some classes is in use.

    `option`: a condition on its own settings, which then are what is found. `label` stands for the
    classes where their names would be too many.
    """

    kind: Kind
    classes: tuple[str, ...]
    option: Condition | None = None
    label: str = ""

    @property
    def setting(self) -> str:
        return self.kind.prefixes[0].format("<name>") + (
            self.option.setting if self.option else "type"
        )

    @property
    def words(self) -> str:
        classes = self.label or _parts(self.classes)
        return f"{self.option.words}, of {classes}" if self.option else classes

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for prefix, part in self.kind.parts(configuration):
            if not _same_class(part.get("type") or "", self.classes):
                continue
            of = Given("type") if self.option is None else self.option
            for match in of.matches(part):
                yield Match(prefix + match.setting, match.value)


_FILTER = "org.apache.kafka.connect.transforms.Filter"


@dataclass(frozen=True, slots=True)
class Filtered:
    """Connect's own Filter drops what its predicate is true for.

    `predicates`: the classes of predicate that are meant, or with `others` all but these.
    """

    predicates: tuple[str, ...]
    others: bool = False
    setting: str = "transforms.<name>.predicate"

    @property
    def words(self) -> str:
        named = _named(self.predicates)
        meant = f"anything but {named}" if self.others else named
        return f"{meant}, of {_parts((_FILTER,))}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for prefix, part in TRANSFORMS.parts(configuration):
            if not _same_class(part.get("type") or "", (_FILTER,)):
                continue
            predicate = part.get("predicate")
            of = configuration.get(f"predicates.{predicate}.type") or ""
            negated = (part.get("negate") or "false").lower() == "true"
            meant = _same_class(of, self.predicates) and not negated
            if meant is not self.others:
                yield Match(f"{prefix}predicate", _simple(of) or "default")


def _match(configuration: Configuration, setting: str, default: str | None) -> Match:
    value = configuration.get(setting)
    if value is not None:
        return Match(redaction.setting(setting), redaction.value(setting, value))
    return Match(setting, "default" if default is None else f"default ({default})")


def _same_class(name: str, classes: Iterable[str]) -> bool:
    """Connect takes a class by its full or its simple name."""
    return any(name in {each, _simple(each)} for each in classes)


def _among(value: str, values: Iterable[str]) -> bool:
    return value.lower() in {each.lower() for each in values}


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def _named(classes: Iterable[str]) -> str:
    return _or(_code(dict.fromkeys(_simple(name) for name in classes)))


def _parts(classes: tuple[str, ...]) -> str:
    """Kafka Connect's transformations and Debezium's have some names in common."""
    kafka = classes[0].startswith("org.apache.kafka.")
    return ("Kafka Connect's " if kafka else "") + _named(classes)


def _code(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"`{value}`" for value in values)


def _or(words: tuple[str, ...]) -> str:
    return " or ".join((*(w for w in (", ".join(words[:-1]),) if w), words[-1]))


def _absent(default: str | None, found: object) -> str:
    return f" (absent means `{default}`)" if found and default is not None else ""
