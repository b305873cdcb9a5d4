"""What of a configuration nobody has judged: no rule goes by it, and it is not known as harmless.

So `ok` means judged and good. Of a transformation, a converter or a post-processor that no rule
knows only the class is told, and nothing of its own settings. Values are not shown: what a setting
is called that nobody knows does not say whether it is secret.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from strandline.advice import redaction
from strandline.advice.conditions import (
    CONVERTERS,
    KINDS,
    POST_PROCESSORS,
    PREDICATES,
    TRANSFORMS,
    Kind,
)
from strandline.advice.configuration import Configuration
from strandline.advice.finding import Finding, Severity
from strandline.advice.harmless import HARMLESS, harmless
from strandline.advice.rule import Rule


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is said of a part that no rule knows."""

    kind: Kind
    effect: str
    remedy: str


UNKNOWN: tuple[Unknown, ...] = (
    Unknown(
        CONVERTERS,
        "code that no rule knows writes the values of its columns: the history holds what it "
        "makes of them, which may be a text for a time, another moment, or one value for several",
        "remove it, or compare a table of the history with the database by reconcile__SOURCE",
    ),
    Unknown(
        TRANSFORMS,
        "a transformation that no rule knows: it may drop, alter or send elsewhere any record",
        "remove it, or compare the history with the database by reconcile__SOURCE",
    ),
    Unknown(
        POST_PROCESSORS,
        "a post-processor that no rule knows: it may alter any value",
        "remove it, or compare the history with the database by reconcile__SOURCE",
    ),
    Unknown(
        PREDICATES,
        "a predicate that no rule knows: which records its transformation is for is not judged",
        "use TopicNameMatches or RecordIsTombstone, or do without",
    ),
)
EFFECT = "no rule of this connector is about it, so nothing is said of what it does to history"
REMEDY = "look it up in the connector's documentation"


_CLOSE = 0.85
_NAME = re.compile(r"[a-z][\w.]+")


def unjudged(configuration: Configuration, rules: Iterable[Rule]) -> Iterator[Finding]:
    """A finding for each part and each setting that is not judged."""
    own = [rule for rule in rules if configuration.family in rule.families]
    judged = {name for rule in own for name in rule.condition.names(configuration)}
    judged.update(name for kind in KINDS for name in kind.told(configuration))
    for unknown in UNKNOWN:
        for prefix, part in unknown.kind.parts(configuration):
            below = {prefix + name for name in part.settings}
            if not below & judged:
                judged |= below
                shown = redaction.value(f"{prefix}type", part.get("type") or "")
                yield _finding(f"{prefix}type", shown, unknown.effect, unknown.remedy)
    rest = {name for name in configuration.settings if configuration.get(name)} - judged
    for name in sorted(rest - harmless(configuration, rest)):
        yield _finding(name, "(not shown)", EFFECT, _remedy(name, own))


def _finding(name: str, value: str, effect: str, remedy: str) -> Finding:
    return Finding(Severity.UNJUDGED, redaction.setting(name), value, effect, remedy)


def _remedy(name: str, rules: Iterable[Rule]) -> str:
    """Connect takes a setting that is spelt wrong without a word."""
    known = {rule.condition.setting for rule in rules}.union(*(group.names for group in HARMLESS))
    close = difflib.get_close_matches(name, filter(_NAME.fullmatch, known), 1, _CLOSE)
    return f"write {close[0]}, if that is meant; else {REMEDY}" if close else REMEDY
