"""Conditions on parts: transformations, post-processors, converters, and what Filter drops."""

from collections.abc import Iterator
from dataclasses import dataclass

from strandline.advice.conditions import wording
from strandline.advice.conditions.condition import Condition, Match
from strandline.advice.conditions.setting import Given
from strandline.advice.configuration import Configuration

_KAFKA = "org.apache.kafka.connect.transforms."
COMMON = ("type", "predicate", "negate")
"""Settings that every transformation has."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How Connect and Debezium name a list of parts and the settings of each.

    `harmless`: classes that do nothing to history.
    """

    setting: str
    prefixes: tuple[str, ...]
    harmless: tuple[str, ...] = ()

    def parts(self, configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
        """The prefix of each part's settings, and those settings without it."""
        for name in configuration.items(self.setting):
            for prefix in (prefix.format(name) for prefix in self.prefixes):
                if f"{prefix}type" in configuration.settings:
                    yield prefix, configuration.under(prefix)

    def told(self, configuration: Configuration) -> Iterator[str]:
        """Settings of which there is nothing to tell: the list, harmless parts, unused ones."""
        yield self.setting
        for prefix, part in self.parts(configuration):
            if wording.same_class(part.get("type") or "", self.harmless):
                yield from (prefix + name for name in part.settings)
        used = configuration.items(self.setting)
        for name in configuration.settings:
            kind, _, rest = name.partition(f"{self.setting}.")
            if not kind and rest and not rest.startswith(tuple(f"{part}." for part in used)):
                yield name


TRANSFORMS = Kind(
    "transforms",
    ("transforms.{}.",),
    (
        f"{_KAFKA}InsertHeader",
        f"{_KAFKA}SetSchemaMetadata$Key",
        "io.debezium.transforms.ExtractChangedRecordState",  # adds headers
        "io.debezium.transforms.tracing.ActivateTracingSpan",
        "io.debezium.connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
    ),
)
PREDICATES = Kind(
    "predicates",
    ("predicates.{}.",),
    tuple(
        f"{_KAFKA}predicates.{name}"
        for name in ("TopicNameMatches", "RecordIsTombstone", "HasHeaderKey")
    ),
)
POST_PROCESSORS = Kind("post.processors", ("{}.", "post.processors.{}."))
CONVERTERS = Kind("converters", ("{}.",))
KINDS = (TRANSFORMS, PREDICATES, POST_PROCESSORS, CONVERTERS)


@dataclass(frozen=True, slots=True)
class Part:
    """A transformation, post-processor or converter of one of some classes is in use.

    `option`: a condition on its own settings, which then are what is found. `label` stands for the
    classes where their names would be too many. `whole`: what is said of it holds whatever its
    other settings are, so that they need no rules of their own.
    """

    kind: Kind
    classes: tuple[str, ...]
    option: Condition | None = None
    label: str = ""
    whole: bool = True

    @property
    def setting(self) -> str:
        return self.kind.prefixes[0].format("<name>") + (
            self.option.setting if self.option else "type"
        )

    @property
    def words(self) -> str:
        classes = self.label or wording.parts(self.classes)
        return f"{self.option.words}, of {classes}" if self.option else classes

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for prefix, part in self._parts(configuration):
            of = Given("type") if self.option is None else self.option
            for match in of.matches(part):
                yield Match(prefix + match.setting, match.value)

    def names(self, configuration: Configuration) -> Iterator[str]:
        for prefix, part in self._parts(configuration):
            of = () if self.option is None else self.option.names(part)
            for name in part.settings if self.whole else (*COMMON, *of):
                yield prefix + name

    def _parts(self, configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
        for prefix, part in self.kind.parts(configuration):
            if wording.same_class(part.get("type") or "", self.classes):
                yield prefix, part


_FILTER = f"{_KAFKA}Filter"


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
        named = wording.named(self.predicates)
        meant = f"anything but {named}" if self.others else named
        return f"{meant}, of {wording.parts((_FILTER,))}"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for prefix, part in TRANSFORMS.parts(configuration):
            if not wording.same_class(part.get("type") or "", (_FILTER,)):
                continue
            predicate = part.get("predicate")
            of = configuration.get(f"predicates.{predicate}.type") or ""
            negated = (part.get("negate") or "false").lower() == "true"
            meant = wording.same_class(of, self.predicates) and not negated
            if meant is not self.others:
                yield Match(f"{prefix}predicate", wording.simple(of) or "default")

    def names(self, configuration: Configuration) -> Iterator[str]:
        for prefix, part in TRANSFORMS.parts(configuration):
            if wording.same_class(part.get("type") or "", (_FILTER,)):
                yield from (prefix + name for name in COMMON)
