"""A connector's configuration and the source file that reads what it writes: do they agree?

What the source file says takes findings back, and what it says otherwise is a loss: values, rows or
whole topics would be read as what they are not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from strandline.advice.conditions import RENAMERS, ROUTERS, TRANSFORMS, shared_topics, topics
from strandline.advice.conditions.wording import same_class
from strandline.advice.configuration import Configuration, Family
from strandline.advice.finding import Finding, Severity
from strandline.advice.mode import MODE, MODE_OF, lacks_schemas, modes
from strandline.advice.redaction import value
from strandline.advice.transform import FLATTEN
from strandline.changes.rules import PLACEHOLDER
from strandline.sources.settings import same
from strandline.sources.source import Source

_READ_AS: Mapping[Family, tuple[str, ...]] = MappingProxyType(
    {
        Family.POSTGRESQL: ("postgresql",),
        Family.MYSQL: ("mysql", "mariadb", "tencent"),
        Family.MARIADB: ("mariadb", "mysql", "tencent"),
        Family.SQLSERVER: ("sqlserver",),
        Family.DB2: ("db2",),
        Family.ORACLE: ("oracle",),
        Family.YUGABYTEDB: ("yugabytedb", "bmdbdb"),
        Family.YUGABYTEDB_SLOT: ("yugabytedb", "bmdbdb"),
    }
)


_BY_NAME = {"tables-named-alike": False, "tables-routed-together": True}
"""Rules of tables that share a topic, and whether a router sends them there."""


def agreed(
    configuration: Configuration, source: Source, found: Iterable[Finding]
) -> Iterator[Finding]:
    """What is left of the findings beside the source file, and what the two say differently."""
    yield from (each for each in found if not _is_settled(each, configuration, source))
    yield from _of_the_whole(configuration, source)
    yield from _of_topics(configuration, source)
    yield from _of_modes(configuration, source)
    yield from _of_placeholder(configuration, source)
    yield from _of_flattening(configuration, source)


def wanted(configuration: Configuration) -> Mapping[str, str]:
    """What `[settings]` of the source file should say: all modes that records do not show.

    Also those that are the default, since a value whose mode is said is never guessed at.
    """
    return modes(configuration) if lacks_schemas(configuration) else {}


def _is_settled(finding: Finding, configuration: Configuration, source: Source) -> bool:
    """True where the source file says what a finding asks for, or `agreed` says more of it."""
    match finding.rule:
        case rule if rule in MODE_OF:
            return True
        case "placeholder":
            return source.default_rules.placeholder == configuration.get(finding.setting)
        case "control-topics":
            return source.is_control(_control_topic(finding.setting, configuration))
        case "notifications-by-another-name":
            return source.notifies(configuration.get(finding.setting) or "")
        case "cells-of-yugabytedb":
            return source.connector in _READ_AS[configuration.family]
        case rule if rule in _BY_NAME:
            shared = shared_topics(configuration, routed=_BY_NAME[rule])
            merged = {topic for match, topic in shared if match.value == finding.value}
            return all(source.rules(topic).one_table for topic in merged)
        case "generated-columns" | "computed-columns" | "virtual-columns":
            return any(table.rules.never_streamed for table in source.tables)
        case _:
            return False


def _control_topic(setting: str, configuration: Configuration) -> str:
    named, prefix = configuration.get(setting) or "", _prefix(configuration)
    delimiter = configuration.get("topic.delimiter") or "."
    match setting:
        case "topic.transaction":
            return delimiter.join((prefix, named))
        case "transaction.topic":
            return re.sub(r"\$\{[\w.]+\}", lambda _: prefix, named)
        case _:
            return delimiter.join((named, prefix))


def _prefix(configuration: Configuration) -> str:
    return configuration.get("topic.prefix") or configuration.get("database.server.name") or ""


def _lost(setting: str, shown: str, effect: str, remedy: str) -> Finding:
    return Finding(Severity.LOSES, setting, value(setting, shown), effect, remedy)


def _of_the_whole(configuration: Configuration, source: Source) -> Iterator[Finding]:
    allowed = _READ_AS[configuration.family]
    if source.connector not in allowed:
        yield _lost(
            "connector.class",
            configuration.get("connector.class") or "",
            f"the source file reads {source.connector}: every record goes to quarantine",
            f'write connector = "{allowed[0]}" into the source file',
        )
    prefix = _prefix(configuration)
    if prefix and prefix != source.topic_prefix:
        yield _lost(
            "topic.prefix",
            prefix,
            f"the source file lands topics of {source.topic_prefix}: it is another connector's, or "
            "no table of this one has a history",
            f'write topic_prefix = "{prefix}" into [kafka] of the source file',
        )


def _of_topics(configuration: Configuration, source: Source) -> Iterator[Finding]:
    """Tables that are listed by their names, and sent to topics that nobody lands."""
    classes = [part.get("type") or "" for _, part in TRANSFORMS.parts(configuration)]
    if not all(same_class(of, (*RENAMERS, *ROUTERS, *FLATTEN)) for of in classes):
        return  # whether another one sends them elsewhere is not known
    if _prefix(configuration) != source.topic_prefix:
        return  # it is told of all of them
    for table, topic in topics(configuration).items():
        if not source.owns(topic):
            yield _lost(
                "table.include.list",
                table,
                f"its topic is {value('topic', topic)}, which the source file does not land",
                f'write [[table]] with topic = "{value("topic", topic)}" into the source file',
            )


def _of_modes(configuration: Configuration, source: Source) -> Iterator[Finding]:
    said = dict(source.default_rules.settings)
    blank = lacks_schemas(configuration)
    for name, mode in modes(configuration).items():
        told = said.get(name)
        if told is None and not (blank and name in _found_modes(configuration)):
            continue
        if told is None or not same(told, mode):
            said_so = f"says {told}" if told else "does not say so"
            yield _lost(
                name,
                mode if configuration.get(name) else f"default ({mode})",
                f"the source file {said_so}: values of records without schema go to quarantine, or "
                "are read as what they are not",
                f'write {name} = "{mode}" into [settings] of the source file'
                + ("" if told else ", as --write does"),
            )


def _found_modes(configuration: Configuration) -> set[str]:
    rules = (rule for rule in MODE if rule.id in MODE_OF)
    return {MODE_OF[rule.id] for rule in rules if any(rule.findings(configuration))}


def _of_placeholder(configuration: Configuration, source: Source) -> Iterator[Finding]:
    names = ("unavailable.value.placeholder", "toasted.value.placeholder")
    name = next((each for each in names if configuration.get(each)), names[0])
    sent, told = configuration.get(name) or PLACEHOLDER, source.default_rules.placeholder
    if sent != told and not sent.startswith("hex:"):
        yield _lost(
            name,
            sent,
            f"the source file says {value(name, told)}: what was not sent is taken for a value",
            "write the same text as `placeholder` into the source file",
        )


def _of_flattening(configuration: Configuration, source: Source) -> Iterator[Finding]:
    flat = [
        (prefix, part)
        for prefix, part in TRANSFORMS.parts(configuration)
        if same_class(part.get("type") or "", FLATTEN)
    ]
    if any(part.get("predicate") for _, part in flat):
        return  # it is for some topics only
    told = [source.default_rules.flattened, *(table.rules.flattened for table in source.tables)]
    if (not flat) in told:
        yield _lost(
            f"{flat[0][0]}type" if flat else "transforms",
            "ExtractNewRecordState" if flat else configuration.get("transforms") or "default",
            f"the source file says flattened = {str(not flat).lower()}: records are read as what "
            "they are not",
            f"write flattened = {str(bool(flat)).lower()}, or leave it to the records",
        )
