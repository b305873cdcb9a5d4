"""What a Debezium connector's configuration does to history, and what to set instead.

A configuration (`configuration`) is held against rules (`rule`), each a condition (`condition`) and
two sentences; what a rule finds is a finding (`finding`). The rules are data, by what they are
about: `capture`, `snapshot`, `value`, `transform`, `delivery`. `page` prints them for people.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from strandline.advice.capture import CAPTURE
from strandline.advice.configuration import Configuration, is_configuration, read
from strandline.advice.delivery import DELIVERY
from strandline.advice.finding import Finding, Severity
from strandline.advice.rule import Rule
from strandline.advice.snapshot import SNAPSHOT
from strandline.advice.transform import TRANSFORM
from strandline.advice.value import VALUE

GROUPS: Mapping[str, tuple[Rule, ...]] = {
    "What is captured": CAPTURE,
    "Snapshots": SNAPSHOT,
    "Values": VALUE,
    "Transformations and post-processors": TRANSFORM,
    "Converters, topics, notifications": DELIVERY,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in GROUPS.values() for rule in rules)


def findings(configuration: Configuration) -> list[Finding]:
    """What the rules find, the worst first."""
    found = [finding for rule in RULES for finding in rule.findings(configuration)]
    return sorted(found, key=lambda finding: list(Severity).index(finding.severity))


def summary(configuration: Configuration, found: Sequence[Finding]) -> str:
    """The whole of a check in one line: `ok`, or `not ok` where history is lost."""
    count = Counter(finding.severity for finding in found)
    verdict = "not ok" if count[Severity.LOSES] else "ok"
    name = f" '{configuration.name}'" if configuration.name else ""
    counted = ", ".join(f"{severity} {count[severity]}" for severity in Severity)
    return f"{verdict}: {configuration.family} connector{name}: {counted}"


__all__ = [
    "GROUPS",
    "RULES",
    "Configuration",
    "Finding",
    "Rule",
    "Severity",
    "findings",
    "is_configuration",
    "read",
    "summary",
]
