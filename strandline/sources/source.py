"""A source file: `dags/sources/<name>.toml`, all that a user writes to get histories of a database.

Unknown keys, wrong types and missing keys are `SpecError`s that name file, table and key and list
what was allowed. The Source is immutable and says nothing about Airflow or Spark but ids.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from strandline.cells import naming
from strandline.changes.position import LAST_EPOCH
from strandline.changes.rules import PLACEHOLDER, Epoch, TableRules, column_type, since
from strandline.connectors import CONNECTORS
from strandline.errors import SpecError
from strandline.formats.registry.framing import Framing
from strandline.runs import lake as lakes
from strandline.runs.way import Way
from strandline.sources import duration, settings
from strandline.sources.catalog import Catalog
from strandline.sources.component import Component, component
from strandline.sources.expectations import Expectations
from strandline.sources.registry import Registry
from strandline.sources.retention import Retention
from strandline.sources.section import Section
from strandline.sources.spark import Spark

LAKE_VARIABLE = "STRANDLINE_LAKE"
FRESHNESS = "2h"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LONGEST = 100  # letters of a name, which is a tag in Airflow too
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")  # what Kafka allows
_TABLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a user says of one table where it differs from the default."""

    topic: str
    name: str
    rules: TableRules
    tolerance: "Tolerance"
    expectations: Expectations


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What is borne of a table without an alert.

    `freshness`: how long a change may wait until it is in the published history. `quarantine`: how
    many records may lie there.
    """

    freshness: timedelta
    quarantine: int = 0


NotifierSpec = Component  # of an Airflow notifier


def _less(prefix: str, topic: str) -> str:
    """A topic without the connector's prefix."""
    return topic.removeprefix(f"{prefix}.")


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
        return own or _less(self.topic_prefix, topic)

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
    """The source of a file. Raises `SpecError` with one line that says what to fix."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not valid TOML: {error}") from error
    return parse(text, path, environ)


def refusal(path: Path, error: Exception) -> str:
    """The line that says what is wrong with a file, also where nobody foresaw it."""
    known = isinstance(error, SpecError)
    return str(error) if known else f"{path}: {type(error).__name__}: {error}"


def notifier(section: Section) -> NotifierSpec:
    """The notifier that a section names; `SpecError` where it is not right."""
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
    return _Document(path, document).source(environ)


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What holds of tables that say nothing else of themselves."""

    prefix: str
    rules: TableRules
    tolerance: Tolerance
    expectations: Expectations


@dataclass(frozen=True, slots=True)
class _Document:
    path: Path
    values: dict[str, Any]

    def source(self, environ: Mapping[str, str]) -> Source:
        top = Section(self.path, "top level", self.values)
        connector = top.take("connector", str, required=True)
        if connector not in CONNECTORS:
            raise SpecError(
                f"{self.path}: top level: unknown connector '{connector}'; "
                f"allowed are {', '.join(sorted(CONNECTORS))}"
            )
        lake = self._lake(top, environ)
        alone = self._is_alone(top)
        kafka, schedule, landing = map(top.section, ("kafka", "schedule", "landing"))
        spark = Spark.of(top.section("spark"), alone=alone)
        section = top.section("registry")
        registry = Registry.of(section) if "registry" in self.values else None
        section = top.section("catalog")
        catalog = Catalog.of(section, self.path.stem) if "catalog" in self.values else None
        rules = TableRules(
            placeholder=self._placeholder(top),
            flattened=top.take("flattened", bool),
            sweep=top.take("sweep", bool, True),
            hold_regress=top.take("hold_regress", bool, True),
            settings=settings.of(top.section("settings")),
            epochs=self._epochs(top),
            key_framing=self._framing(top, "key_framing"),
            value_framing=self._framing(top, "value_framing"),
            hold_unknown=registry is not None and registry.hold,
        )
        tolerance = self._tolerance(top, Tolerance(duration.parse(FRESHNESS)))
        expected = Expectations.of(top.section("expectations"))
        prefix = self._topic_prefix(kafka)
        source = Source(
            name=self.path.stem,
            connector=connector,
            lake=lake,
            topic_prefix=prefix,
            kafka_connection=kafka.take("connection", str, "kafka_default"),
            control_topics=kafka.strings("control_topics"),
            land_schedule=schedule.take("land", str),
            compact_schedule=schedule.take("compact", str),
            maintain_schedule=schedule.take("maintain", str),
            segment_bytes=landing.positive("segment_bytes", 64 << 20),
            max_segments=landing.positive("max_segments", 64),
            spark_operator=spark.operator,
            spark_connection=spark.connection,
            way=spark.way,
            alone=alone,
            spark_conf=spark.conf,
            tables=self._tables(top, _Defaults(prefix, rules, tolerance, expected)),
            default_rules=rules,
            default_tolerance=tolerance,
            default_expectations=expected,
            retention=Retention.of(top.section("retention")),
            notifiers=tuple(map(notifier, top.sections("notifier", "class"))),
            registry=registry,
            catalog=catalog,
        )
        for section in (top, kafka, schedule, landing):
            section.finish()
        return source

    def _lake(self, top: Section, environ: Mapping[str, str]) -> str:
        own: str | None = top.take("lake", str)
        lake = own or environ.get(LAKE_VARIABLE)
        if not lake:
            raise SpecError(
                f"{self.path}: no lake: set 'lake' to a folder or URI there, "
                f"or the variable {LAKE_VARIABLE} for all sources"
            )
        strange = lakes.strange(lake)
        if strange is not None:
            where = "top level: 'lake'" if own else f"the variable {LAKE_VARIABLE}"
            raise SpecError(
                f"{self.path}: {where}: delta-rs does not find {strange!r} in {lake!r} again: name "
                "a folder or URI without percent escapes such as %20 and without [ ] ^ | \\ and "
                "control characters (spaces and a lone % are fine)"
            )
        return lake.rstrip("/")

    def _is_alone(self, top: Section) -> bool:
        engine = top.take("engine", str, "spark")
        if engine not in {"spark", "alone"}:
            raise SpecError(
                f"{self.path}: top level: 'engine' must be spark or alone, not '{engine}'"
            )
        return bool(engine == "alone")

    def _framing(self, top: Section, name: str) -> str:
        said = top.take(name, str, Framing.AUTO)
        if said not in set(Framing):
            raise SpecError(
                f"{self.path}: top level: '{name}' must be one of {', '.join(Framing)}, "
                f"not '{said}'"
            )
        return str(said)

    def _placeholder(self, top: Section) -> str:
        placeholder: str = top.take("placeholder", str, PLACEHOLDER)
        if not placeholder.strip():
            raise SpecError(
                f"{self.path}: top level: 'placeholder' is empty, so that every empty text would "
                "count as not sent: write the connector's unavailable.value.placeholder"
            )
        return placeholder

    def _topic_prefix(self, kafka: Section) -> str:
        prefix: str = kafka.take("topic_prefix", str, required=True)
        if not prefix.strip():
            raise SpecError(
                f"{self.path}: {kafka.title}: 'topic_prefix' is empty: write the connector's "
                "topic.prefix"
            )
        if not _TOPIC.fullmatch(prefix):
            raise SpecError(
                f"{self.path}: {kafka.title}: 'topic_prefix' begins the names of topics: letters, "
                f"digits, '.', '_' and '-' only, not {prefix!r}"
            )
        return prefix

    def _epochs(self, top: Section) -> tuple[Epoch, ...]:
        epochs = []
        for section in top.sections("epoch", "number"):
            number = section.positive("number")
            if number > LAST_EPOCH:
                raise SpecError(
                    f"{self.path}: {section.title}: 'number' must be {LAST_EPOCH} or less, not "
                    f"{number}: number the lineages of a source 1, 2, 3"
                )
            moment = section.take("since", datetime, required=True)
            section.finish()
            if moment.tzinfo is None:
                raise SpecError(f"{self.path}: {section.title}: 'since' needs an offset from UTC")
            epochs.append(Epoch(number, since(moment)))
        ordered = sorted(epochs, key=lambda epoch: epoch.since)
        for before, after in pairwise(ordered):
            if after.since == before.since or after.number <= before.number:
                raise SpecError(
                    f"{self.path}: [[epoch]]: later epochs need higher numbers, and each a time of "
                    f"its own: see those of number {before.number} and {after.number}"
                )
        return tuple(ordered)

    def _tolerance(self, section: Section, default: Tolerance) -> Tolerance:
        text = section.take("freshness", str)
        quarantine = section.take("quarantine", int, default.quarantine)
        if quarantine < 0:
            raise SpecError(
                f"{self.path}: {section.title}: 'quarantine' must be 0 or more, not {quarantine}"
            )
        try:
            freshness = default.freshness if text is None else duration.parse(text)
        except ValueError as error:
            raise SpecError(f"{self.path}: {section.title}: 'freshness' {error}") from error
        return Tolerance(freshness, quarantine)

    def _tables(self, top: Section, defaults: "_Defaults") -> tuple[TableSpec, ...]:
        tables = [self._table(section, defaults) for section in top.sections("table", "topic")]
        for kind in ("topic", "name"):
            values = [getattr(table, kind) for table in tables]
            twice = next((value for value in values if values.count(value) > 1), None)
            if twice is not None:
                raise SpecError(f"{self.path}: two [[table]] sections have the {kind} '{twice}'")
        return tuple(tables)

    def _table(self, section: Section, defaults: "_Defaults") -> TableSpec:
        rules = defaults.rules
        topic = section.take("topic", str, required=True)
        if not _TOPIC.fullmatch(topic):
            raise SpecError(
                f"{self.path}: {section.title}: 'topic' is the name of a topic: letters, digits, "
                f"'.', '_' and '-' only, not {topic!r}"
            )
        # As without the section: what is said of a table that has a history must not rename it.
        name = section.take("name", str, _less(defaults.prefix, topic))
        if not _TABLE_NAME.fullmatch(name):
            raise SpecError(
                f"{self.path}: {section.title}: 'name' becomes a folder: letters, digits, "
                f"'_', '.', '$' and '-' only, not {name!r}"
            )
        own = replace(
            rules,
            key=section.strings("key"),
            track=section.strings("track"),
            ignore=section.strings("ignore"),
            columns=tuple(section.mapping("columns").items()),
            never_streamed=section.strings("never_streamed"),
            rename=tuple(section.mapping("rename").items()),
            flattened=section.take("flattened", bool, rules.flattened),
            sweep=section.take("sweep", bool, rules.sweep),
            hold_regress=section.take("hold_regress", bool, rules.hold_regress),
            one_table=section.take("one_table", bool, False),
        )
        tolerated = self._tolerance(section, defaults.tolerance)
        expected = Expectations.of(section.within("expectations"), defaults.expectations)
        section.finish()
        self._check(section, own)
        self._check_nulls(section, own, expected)
        return TableSpec(topic, name, own.renamed(), tolerated, expected)

    def _check(self, section: Section, rules: TableRules) -> None:
        where = f"{self.path}: {section.title}"
        for column, text in rules.columns:
            try:
                column_type(text)
            except ValueError as error:
                raise SpecError(f"{where}: 'columns.{column}': {error}") from error
        self._check_names(where, rules)
        both = set(rules.track) & set(rules.ignore)
        if both:
            raise SpecError(f"{where}: '{min(both)}' is in 'track' and in 'ignore'")
        for name in ("key", "track"):
            both = set(rules.never_streamed) & set(getattr(rules, name))
            if both:
                raise SpecError(
                    f"{where}: '{min(both)}' is in 'never_streamed' and in '{name}': what only "
                    "snapshots read makes no version and identifies no row"
                )
        contract = dict(rules.columns)
        for name in ("key", "track", "ignore", "never_streamed", "rename"):
            asked = rules.renamed_to if name == "rename" else getattr(rules, name)
            unknown = [c for c in asked if contract and c not in contract]
            if unknown:
                raise SpecError(
                    f"{where}: '{name}' names the column '{unknown[0]}', which 'columns' lacks; "
                    f"there are {', '.join(contract)}"
                )

    def _check_nulls(self, section: Section, rules: TableRules, expected: Expectations) -> None:
        """Refuses columns that the history of a contract will not have, by their names there."""
        names = dict(rules.rename)
        there = [names.get(column, column) for column, _ in rules.columns]
        unknown = [column for column in expected.max_nulls if there and column not in there]
        if unknown:
            raise SpecError(
                f"{self.path}: {section.title}: 'expectations.max_nulls' names the column "
                f"'{unknown[0]}', which 'columns' lacks; there are {', '.join(there)}"
            )

    def _check_names(self, where: str, rules: TableRules) -> None:
        """Refuses names that columns cannot have, or that two of them would have."""
        names = dict(rules.rename)
        wrong = naming.fault(names.values())
        if wrong is not None:
            old = next(old for old, new in reversed(names.items()) if new == wrong[0])
            raise SpecError(f"{where}: 'rename.{old}': {wrong[1]}")
        kept = {column for column, _ in rules.columns} - names.keys()
        twice = next((old for old, new in names.items() if new in kept), None)
        if twice is not None:
            raise SpecError(
                f"{where}: 'rename.{twice}': 'columns' has a column '{names[twice]}' already"
            )
