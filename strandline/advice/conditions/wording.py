"""How conditions say in words what they look for, and what of a value is fit to print."""

from collections.abc import Iterable

from strandline.advice import redaction
from strandline.advice.conditions.condition import Match
from strandline.advice.configuration import Configuration


def match(configuration: Configuration, setting: str, default: str | None) -> Match:
    """What a setting says, without its secrets, or that its default counts."""
    value = configuration.get(setting)
    if value is not None:
        return Match(redaction.setting(setting), redaction.value(setting, value))
    return Match(setting, "default" if default is None else f"default ({default})")


def same_class(name: str, classes: Iterable[str]) -> bool:
    """Connect takes a class by its full or its simple name."""
    return any(name in {each, simple(each)} for each in classes)


def among(value: str, values: Iterable[str]) -> bool:
    """True where a value is one of some, whatever its case."""
    return value.lower() in {each.lower() for each in values}


def simple(name: str) -> str:
    """A class without its package."""
    return name.rpartition(".")[2]


def named(classes: Iterable[str]) -> str:
    """The simple names of classes, one or another."""
    return either(code(dict.fromkeys(simple(name) for name in classes)))


def parts(classes: tuple[str, ...]) -> str:
    """Kafka Connect's transformations and Debezium's have some names in common."""
    kafka = classes[0].startswith("org.apache.kafka.")
    return ("Kafka Connect's " if kafka else "") + named(classes)


def code(values: Iterable[str]) -> tuple[str, ...]:
    """Each value as code."""
    return tuple(f"`{value}`" for value in values)


def either(words: tuple[str, ...]) -> str:
    """The words, with `or` before the last."""
    return " or ".join((*(w for w in (", ".join(words[:-1]),) if w), words[-1]))


def absent(default: str | None, found: object) -> str:
    """What absence means, where it is found too."""
    return f" (absent means `{default}`)" if found and default is not None else ""
