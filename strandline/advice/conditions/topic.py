"""Which tables share a topic, as far as their names stand in a configuration.

Debezium joins the topic prefix and the parts of a table's name, and puts `_` for each character
that Kafka does not take. Transformations may change the topic afterwards. Names that only a pattern
stands for are not seen.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from strandline.advice import redaction
from strandline.advice.conditions import wording
from strandline.advice.conditions.condition import Match
from strandline.advice.conditions.part import TRANSFORMS
from strandline.advice.configuration import Configuration, Family

TABLES = ("table.include.list", "table.whitelist")
ROUTERS = ("io.debezium.transforms.ByLogicalTableRouter",)
RENAMERS = ("org.apache.kafka.connect.transforms.RegexRouter",)
NAMING = "topic.naming.strategy"
_KEYS = ("", "key.field.")
_OPTIONS = ("regex", "replacement")
_TOPIC_NAME_MATCHES = ("org.apache.kafka.connect.transforms.predicates.TopicNameMatches",)
_KNOWN = re.compile(r"\b(Default|Schema)(Regex)?TopicNamingStrategy$")
_ESCAPED = re.compile(r"\\(.)")
_PATTERN = re.compile(r"[\^$*+?()\[\]{}|]")
_REFUSED = re.compile(r"[^A-Za-z0-9._-]")
_GROUP = re.compile(r"\$\{?(\w+)\}?")


@dataclass(frozen=True, slots=True)
class SharedTopic:
    """Tables that are listed by name have one topic.

    `routed`: not by their names, but since transformations send them there.
    """

    routed: bool = False
    setting: str = "table.include.list"

    @property
    def words(self) -> str:
        if self.routed:
            return "has tables that a router sends to one topic, with nothing that tells them apart"
        return "has tables whose names are one when `_` stands for what Kafka does not take"

    def matches(self, configuration: Configuration) -> Iterator[Match]:
        for match, _ in shared_topics(configuration, routed=self.routed):
            yield match

    def names(self, _configuration: Configuration) -> Iterator[str]:
        yield from (*TABLES, NAMING, *(f"topic.{key}{of}" for key in _KEYS for of in _OPTIONS))


def shared_topics(configuration: Configuration, *, routed: bool) -> Iterator[tuple[Match, str]]:
    """The listed tables that share a topic, as they are told, and the topic."""
    for name in TABLES:
        named = dict(_topics(configuration, name))
        sent = {table: _routed(configuration, topic) for table, topic in named.items()}
        topics: Mapping[str, object] = sent if routed else named
        for tables in _together(topics):
            if not routed or len({named[table] for table in tables}) == len(tables):
                topic = sent[tables[0]][0]
                shown = redaction.value(name, f"{', '.join(tables)} (topic {topic})")
                yield Match(name, shown), topic


def topics(configuration: Configuration) -> dict[str, str]:
    """The topic of each table that is listed by its name, behind all routers."""
    named = {each for name in TABLES for each in _topics(configuration, name)}
    return {table: _routed(configuration, topic)[0] for table, topic in sorted(named)}


def _topics(configuration: Configuration, setting: str) -> Iterator[tuple[str, str]]:
    """Each table that is listed by its name, with the topic that the connector gives it."""
    naming = configuration.get(NAMING)
    if naming is not None and not _KNOWN.search(naming):
        return  # it writes out each character that Kafka does not take, or nobody knows it
    prefix = configuration.get("topic.prefix") or configuration.get("database.server.name") or ""
    delimiter = configuration.get("topic.delimiter") or "."
    for table in _tables(configuration, setting):
        topic = delimiter.join((prefix, *table.split(".")))
        yield table, _REFUSED.sub(lambda c: "__" if c[0] > "\uffff" else "_", topic)


def _tables(configuration: Configuration, setting: str) -> Iterator[str]:
    named = [_ESCAPED.sub("", item) for item in configuration.items(setting)]
    plain = [
        _ESCAPED.sub(r"\1", item)
        for item, rest in zip(configuration.items(setting), named, strict=True)
        if not _PATTERN.search(rest)
    ]
    databases = configuration.items("database.names")
    if configuration.family is not Family.SQLSERVER or not databases:
        yield from plain
        return
    yield from (f"{database}.{table}" for database in databases for table in plain)


def _together(topics: Mapping[str, object]) -> Iterator[list[str]]:
    by_topic: dict[object, list[str]] = defaultdict(list)
    for table, topic in topics.items():
        by_topic[topic].append(table)
    yield from (tables for tables in by_topic.values() if len(tables) > 1)


def _routed(configuration: Configuration, topic: str) -> tuple[str, str]:
    """The topic behind all transformations, and what tells its table apart in the key."""
    apart = ""
    if "Regex" in (configuration.get(NAMING) or ""):
        naming = configuration.under("topic.")
        sent = _replaced(topic, naming.get("regex"), naming.get("replacement")) or topic
        if sent != topic and naming.get("key.enforce.uniqueness") != "false":
            apart = topic
        topic = sent
    for _, part in TRANSFORMS.parts(configuration):
        of = part.get("type") or ""
        logical = wording.same_class(of, ROUTERS)
        dot = "topic." if logical else ""
        if not logical and not wording.same_class(of, RENAMERS):
            continue
        if not _applies(configuration, part, topic):
            continue
        sent = _replaced(topic, part.get(f"{dot}regex"), part.get(f"{dot}replacement")) or topic
        if sent != topic and logical and part.get("key.enforce.uniqueness") != "false":
            apart = topic
        topic = sent
    return topic, apart


def _applies(configuration: Configuration, part: Configuration, topic: str) -> bool:
    predicate = part.get("predicate")
    if predicate is None:
        return True
    of = configuration.under(f"predicates.{predicate}.")
    if not wording.same_class(of.get("type") or "", _TOPIC_NAME_MATCHES):
        return False
    found = _replaced(topic, of.get("pattern"), "") is not None
    return found is not (part.get("negate") == "true")


def _replaced(topic: str, regex: str | None, replacement: str | None) -> str | None:
    """What Java makes of a topic that a pattern matches; None where it does not match."""
    try:
        match = re.fullmatch(regex or "", topic)
        return match and _GROUP.sub(lambda group: _group(match, group[1]), replacement or "")
    except (re.error, IndexError):
        return None


def _group(match: re.Match[str], name: str) -> str:
    return match[int(name) if name.isdecimal() else name] or ""
