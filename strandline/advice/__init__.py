"""What a Debezium connector's configuration does to history, and what to set instead.

A configuration (`configuration`) is held against rules (`rule`), each a condition (`conditions`)
and two sentences; what a rule finds is a finding (`finding`). The rules are data, by what they are
about: `capture`, `log`, `snapshot`, `value`, `mode`, `transform`, `route`, `delivery`. What no rule
goes by is not judged (`judgement`), but for what is known to do nothing to history (`harmless`).
`agreement` holds a configuration against the source file that reads what the connector writes.
`page` prints the rules for people.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from strandline.advice.agreement import agreed, wanted
from strandline.advice.capture import CAPTURE
from strandline.advice.configuration import Configuration, is_configuration, read
from strandline.advice.delivery import DELIVERY
from strandline.advice.finding import Finding, Severity
from strandline.advice.harmless import HARMLESS
from strandline.advice.judgement import unjudged
from strandline.advice.log import LOG
from strandline.advice.mode import MODE
from strandline.advice.route import ROUTE
from strandline.advice.rule import Rule
from strandline.advice.snapshot import SNAPSHOT
from strandline.advice.transform import TRANSFORM
from strandline.advice.value import VALUE
from strandline.sources.source import Source

GROUPS: Mapping[str, tuple[Rule, ...]] = {
    "What is captured": CAPTURE,
    "How the log is read": LOG,
    "Snapshots": SNAPSHOT,
    "Values": VALUE,
    "Values of records without schema": MODE,
    "Transformations and post-processors": TRANSFORM,
    "Which topic a table has": ROUTE,
    "Converters, topics, notifications": DELIVERY,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in GROUPS.values() for rule in rules)


def findings(configuration: Configuration, source: Source | None = None) -> list[Finding]:
    """What the rules find, and what none of them judges, the worst first.

    With the source file that reads what the connector writes, what the two say together.
    """
    found = [finding for rule in RULES for finding in rule.findings(configuration)]
    found.extend(unjudged(configuration, RULES))
    if source is not None:
        found = list(agreed(configuration, source, found))
    return sorted(found, key=lambda finding: list(Severity).index(finding.severity))


def summary(configuration: Configuration, found: Sequence[Finding]) -> str:
    """The whole of a check in one line.

    `not ok` where history is lost, `not all judged` where nobody can say, else `ok`.
    """
    count = Counter(finding.severity for finding in found)
    verdict = "not all judged" if count[Severity.UNJUDGED] else "ok"
    verdict = "not ok" if count[Severity.LOSES] else verdict
    name = f" '{configuration.name}'" if configuration.name else ""
    counted = ", ".join(f"{severity} {count[severity]}" for severity in Severity)
    return f"{verdict}: {configuration.family} connector{name}: {counted}"


__all__ = [
    "GROUPS",
    "HARMLESS",
    "RULES",
    "Configuration",
    "Finding",
    "Rule",
    "Severity",
    "findings",
    "is_configuration",
    "read",
    "summary",
    "wanted",
]
