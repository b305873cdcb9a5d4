"""A source file: `dags/sources/<name>.toml`, all that a user writes to get histories of a database.

Unknown keys, wrong types and missing keys are `SpecError`s that name file, table and key and list
what was allowed. The Source is immutable and says nothing about Airflow or Spark but ids.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from strandline.changes.rules import PLACEHOLDER, TableRules
from strandline.connectors import CONNECTORS
from strandline.errors import SpecError
from strandline.formats.registry.framing import Framing
from strandline.runs import lake as lakes
from strandline.runs.way import Way
from strandline.sources import duration, epochs, settings
from strandline.sources.approval import Approval
from strandline.sources.catalog import Catalog
from strandline.sources.component import Component, component
from strandline.sources.expectations import Expectations
from strandline.sources.mistakes import Mistakes
from strandline.sources.registry import Registry
from strandline.sources.retention import Retention
from strandline.sources.section import Section
from strandline.sources.spark import Spark
from strandline.sources.table import TOPIC, Defaults, TableSpec, Tolerance, less, tables

LAKE_VARIABLE = "STRANDLINE_LAKE"
FRESHNESS = "2h"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LONGEST = 100  # letters of a name, which is a tag in Airflow too


NotifierSpec = Component  # of an Airflow notifier


@dataclass(frozen=True, slots=True)
class Source:
    """One database as Strandline sees it.

    `segment_bytes` bounds what one landing task holds in memory, `max_segments` how many mapped
    tasks one landing run plans; what is over is carried to the next run. `alone`: its runs go
    without Spark, in Airflow's own tasks. `registry` None: records name no schemas. `catalog` None:
    histories are known by their paths alone.
    """

    name: str
    connector: str
    topic_prefix: str
    kafka_connection: str
    spark_connection: str
    way: Way
    alone: bool
    lake: str
    land_schedule: str | None
    compact_schedule: str | None
    maintain_schedule: str | None
    segment_bytes: int
    max_segments: int
    control_topics: tuple[str, ...]
    tables: tuple[TableSpec, ...]
    spark_conf: Mapping[str, str]
    spark_operator: Component | None  # None: this project's own, which runs spark-submit
    default_rules: TableRules
    default_tolerance: Tolerance
    retention: Retention
    notifiers: tuple[NotifierSpec, ...] = field(default=())
    registry: Registry | None = None
    catalog: Catalog | None = None
    approval: Approval = field(default_factory=Approval)
    default_expectations: Expectations = field(default_factory=Expectations)

    def rules(self, topic: str) -> TableRules:
        """The rules of the table that a topic feeds; nobody flattens what is no row."""
        if self.is_control(topic):
            return replace(self.default_rules, flattened=False)
        return next((t.rules for t in self.tables if t.topic == topic), self.default_rules)

    def tolerance(self, topic: str) -> Tolerance:
        """What is borne of the table that a topic feeds."""
        return next((t.tolerance for t in self.tables if t.topic == topic), self.default_tolerance)

    def expectations(self, topic: str) -> Expectations:
        """What the table that a topic feeds has to meet before it is published."""
        own = (table.expectations for table in self.tables if table.topic == topic)
        return next(own, self.default_expectations)

    def table_name(self, topic: str) -> str:
        """The table that a topic feeds: its configured name, else the topic less the prefix."""
        own = next((table.name for table in self.tables if table.topic == topic), None)
        return own or less(self.topic_prefix, topic)

    def is_control(self, topic: str) -> bool:
        """True where the topic carries no rows: schema changes, transactions, heartbeats, notices.

        Names are Debezium's defaults, besides the configured ones (docs/facts/envelopes.md, "Topics
        without rows").
        """
        return topic in self.control_topics or topic in {
            self.topic_prefix,
            f"{self.topic_prefix}.transaction",
            f"{self.topic_prefix}.message",
            f"{self.topic_prefix}.notifications",
            f"__debezium-heartbeat.{self.topic_prefix}",
        }

    @property
    def routed(self) -> tuple[str, ...]:
        """Topics of `[[table]]` sections that the connector does not give by itself."""
        own = f"{self.topic_prefix}."
        return tuple(table.topic for table in self.tables if not table.topic.startswith(own))

    def notifies(self, topic: str) -> bool:
        """True where the topic may carry notices of snapshots: its default name, or a given one."""
        return topic == f"{self.topic_prefix}.notifications" or topic in self.control_topics

    def owns(self, topic: str) -> bool:
        """True where the topic belongs to this source."""
        return (
            self.is_control(topic)
            or topic.startswith(f"{self.topic_prefix}.")
            or any(table.topic == topic for table in self.tables)
        )


def load(path: Path, environ: Mapping[str, str] = os.environ) -> Source:
    """The source of a file. Raises `SpecError` that says everything there is to fix."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not valid TOML: {error}") from error
    return parse(text, path, environ)


def refusal(path: Path, error: Exception) -> str:
    """What is wrong with a file, also where nobody foresaw it."""
    known = isinstance(error, SpecError)
    return str(error) if known else f"{path}: {type(error).__name__}: {error}"


def notifier(section: Section) -> NotifierSpec:
    """The notifier that a section names."""
    example = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
    found = component(section, "class", f"an Airflow notifier, such as {example}")
    section.finish()
    return found


def parse(text: str, path: Path, environ: Mapping[str, str] = os.environ) -> Source:
    """The source of a file's text; errors name the path, the source has its name."""
    try:
        document = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError is one; a number of too many digits another
        raise SpecError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise SpecError(f"{path}: not valid TOML: nested too deeply") from error
    if not _NAME.fullmatch(path.stem):
        raise SpecError(
            f"{path}: the file's name is the source's name and goes into DAG ids: "
            "letters, digits, '_' and '-' only, a letter first"
        )
    if len(path.stem) > _LONGEST:
        raise SpecError(
            f"{path}: the file's name is the source's name, which must be of {_LONGEST} letters "
            f"at most, not {len(path.stem)}"
        )
    mistakes = Mistakes(path)
    found = _source(Section(mistakes, "top level", document), path.stem, environ)
    mistakes.tell()
    return found


def _source(top: Section, name: str, environ: Mapping[str, str]) -> Source:
    connector = top.take("connector", str, required=True)
    if connector not in CONNECTORS and "connector" not in top.refused:
        top.note(f"unknown connector '{connector}'; allowed are {', '.join(sorted(CONNECTORS))}")
    alone = top.choice("engine", ("spark", "alone"), "spark") == "alone"
    kafka, schedule, landing = map(top.section, ("kafka", "schedule", "landing"))
    spark = Spark.of(top.section("spark"), alone=alone)
    registry, catalog = top.section("registry"), top.section("catalog")
    has_registry, has_catalog = "registry" in top.values, "catalog" in top.values
    lookup = Registry.of(registry) if has_registry else None
    prefix = _topic_prefix(kafka)
    defaults = Defaults(
        prefix=prefix,
        rules=_rules(top, hold_unknown=lookup is not None and lookup.hold),
        tolerance=Tolerance.of(top, Tolerance(duration.parse(FRESHNESS))),
        expectations=Expectations.of(top.section("expectations")),
    )
    source = Source(
        name=name,
        connector=connector,
        lake=_lake(top, environ),
        topic_prefix=prefix,
        kafka_connection=kafka.connection("kafka_default"),
        control_topics=kafka.strings("control_topics"),
        land_schedule=schedule.take("land", str),
        compact_schedule=schedule.take("compact", str),
        maintain_schedule=schedule.take("maintain", str),
        segment_bytes=landing.number("segment_bytes", 1, default=64 << 20),
        max_segments=landing.number("max_segments", 1, default=64),
        spark_operator=spark.operator,
        spark_connection=spark.connection,
        way=spark.way,
        alone=alone,
        spark_conf=spark.conf,
        tables=tables(top, defaults),
        default_rules=defaults.rules,
        default_tolerance=defaults.tolerance,
        retention=Retention.of(top.section("retention")),
        notifiers=tuple(map(notifier, top.sections("notifier", "class"))),
        registry=lookup,
        catalog=Catalog.of(catalog, name) if has_catalog else None,
        default_expectations=defaults.expectations,
        approval=Approval.of(top.section("approval")),
    )
    for section in (top, kafka, schedule, landing):
        section.finish()
    return source


def _rules(top: Section, *, hold_unknown: bool) -> TableRules:
    framings = list(Framing)
    placeholder: str = top.take("placeholder", str, PLACEHOLDER)
    if not placeholder.strip():
        top.refuse(
            "placeholder",
            "is empty, so that every empty text would count as not sent: write the connector's "
            "unavailable.value.placeholder",
        )
    return TableRules(
        placeholder=placeholder,
        flattened=top.take("flattened", bool),
        sweep=top.take("sweep", bool, True),
        hold_regress=top.take("hold_regress", bool, True),
        settings=settings.of(top.section("settings")),
        epochs=epochs.of(top),
        key_framing=top.choice("key_framing", framings, Framing.AUTO),
        value_framing=top.choice("value_framing", framings, Framing.AUTO),
        hold_unknown=hold_unknown,
    )


def _lake(top: Section, environ: Mapping[str, str]) -> str:
    own: str | None = top.take("lake", str)
    lake = own or environ.get(LAKE_VARIABLE) or ""
    if not lake:
        top.mistakes.note(
            f"no lake: set 'lake' to a folder or URI there, or the variable {LAKE_VARIABLE} for "
            "all sources"
        )
    strange = lakes.strange(lake)
    if strange is not None:
        where = "top level: 'lake'" if own else f"the variable {LAKE_VARIABLE}"
        top.mistakes.note(
            f"{where}: delta-rs does not find {strange!r} in {lake!r} again: name a folder or URI "
            "without percent escapes such as %20 and without [ ] ^ | \\ and control characters "
            "(spaces and a lone % are fine)"
        )
    return lake.rstrip("/")


def _topic_prefix(kafka: Section) -> str:
    prefix: str = kafka.take("topic_prefix", str, required=True)
    if not prefix.strip():
        kafka.refuse("topic_prefix", "is empty: write the connector's topic.prefix")
    elif not TOPIC.fullmatch(prefix):
        kafka.refuse(
            "topic_prefix",
            f"begins the names of topics: letters, digits, '.', '_' and '-' only, not {prefix!r}",
        )
    return prefix
