"""A source file: `dags/sources/<name>.toml`, all that a user writes to get histories of a database.

Unknown keys, wrong types and missing keys are `SpecError`s that name file, table and key and list
what was allowed. The Source is immutable and says nothing about Airflow or Spark but ids.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from strandline.connectors import CONNECTORS
from strandline.errors import SpecError

LAKE_VARIABLE = "STRANDLINE_LAKE"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TABLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a user says of one table where it differs from the default."""

    topic: str
    name: str


@dataclass(frozen=True, slots=True)
class Source:
    """One database as Strandline sees it.

    `segment_bytes` bounds what one landing task holds in memory, `max_segments` how many mapped
    tasks one landing run plans; what is over is carried to the next run.
    """

    name: str
    connector: str
    topic_prefix: str
    kafka_connection: str
    spark_connection: str
    lake: str
    land_schedule: str | None
    compact_schedule: str | None
    segment_bytes: int
    max_segments: int
    control_topics: tuple[str, ...]
    tables: tuple[TableSpec, ...]
    spark_conf: Mapping[str, str]

    def table_name(self, topic: str) -> str:
        """The table that a topic feeds: its configured name, else the topic less the prefix."""
        for table in self.tables:
            if table.topic == topic:
                return table.name
        return topic.removeprefix(f"{self.topic_prefix}.")

    def is_control(self, topic: str) -> bool:
        """True where the topic carries no rows: schema changes, transactions, heartbeats, notices.

        Names are Debezium's defaults (debezium-facts §2.7, §2.8) besides the configured ones.
        """
        return topic in self.control_topics or topic in {
            self.topic_prefix,
            f"{self.topic_prefix}.transaction",
            f"{self.topic_prefix}.message",
            f"{self.topic_prefix}.notifications",
            f"__debezium-heartbeat.{self.topic_prefix}",
        }

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
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: not valid TOML: {error}") from error
    if not _NAME.fullmatch(path.stem):
        raise SpecError(
            f"{path}: the file's name is the source's name and goes into DAG ids: "
            "letters, digits, '_' and '-' only, a letter first"
        )
    return _Document(path, document).source(environ)


@dataclass(frozen=True, slots=True)
class _Section:
    """One table of the TOML document, read key by key; `finish` refuses what nobody asked for."""

    path: Path
    title: str
    values: dict[str, Any]
    asked: dict[str, type]

    def take(self, key: str, kind: type, default: Any = None, *, required: bool = False) -> Any:
        self.asked[key] = kind
        value = self.values.get(key, default)
        if value is None and required:
            raise SpecError(f"{self.path}: {self.title}: '{key}' is missing ({_article(kind)})")
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise SpecError(
                f"{self.path}: {self.title}: '{key}' must be {_article(kind)}, not {value!r}"
            )
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        values = self.take(key, list, [])
        for value in values:
            if not isinstance(value, str):
                raise SpecError(
                    f"{self.path}: {self.title}: '{key}' must hold strings only, not {value!r}"
                )
        return tuple(values)

    def finish(self) -> None:
        for key in self.values:
            if key not in self.asked:
                raise SpecError(
                    f"{self.path}: {self.title}: unknown key '{key}'; "
                    f"allowed are {', '.join(sorted(self.asked))}"
                )


@dataclass(frozen=True, slots=True)
class _Document:
    path: Path
    values: dict[str, Any]

    def source(self, environ: Mapping[str, str]) -> Source:
        top = _Section(self.path, "top level", self.values, {})
        connector = top.take("connector", str, required=True)
        if connector not in CONNECTORS:
            raise SpecError(
                f"{self.path}: top level: unknown connector '{connector}'; "
                f"allowed are {', '.join(sorted(CONNECTORS))}"
            )
        lake = top.take("lake", str, environ.get(LAKE_VARIABLE))
        if not lake:
            raise SpecError(
                f"{self.path}: no lake: set 'lake' to a folder or URI there, "
                f"or the variable {LAKE_VARIABLE} for all sources"
            )
        kafka, schedule, landing, spark = (
            self._section(top, title) for title in ("kafka", "schedule", "landing", "spark")
        )
        source = Source(
            name=self.path.stem,
            connector=connector,
            lake=lake.rstrip("/"),
            topic_prefix=kafka.take("topic_prefix", str, required=True),
            kafka_connection=kafka.take("connection", str, "kafka_default"),
            control_topics=kafka.strings("control_topics"),
            land_schedule=schedule.take("land", str),
            compact_schedule=schedule.take("compact", str),
            segment_bytes=self._positive(landing, "segment_bytes", 64 << 20),
            max_segments=self._positive(landing, "max_segments", 64),
            spark_connection=spark.take("connection", str, "spark_default"),
            spark_conf=self._conf(spark),
            tables=self._tables(top),
        )
        for section in (top, kafka, schedule, landing, spark):
            section.finish()
        return source

    def _section(self, top: _Section, title: str) -> _Section:
        return _Section(self.path, f"[{title}]", top.take(title, dict, {}), {})

    def _positive(self, section: _Section, key: str, default: int) -> int:
        value: int = section.take(key, int, default)
        if value < 1:
            raise SpecError(f"{self.path}: {section.title}: '{key}' must be 1 or more, not {value}")
        return value

    def _conf(self, spark: _Section) -> Mapping[str, str]:
        conf = spark.take("conf", dict, {})
        for key, value in conf.items():
            if not isinstance(value, str):
                raise SpecError(f"{self.path}: [spark.conf]: '{key}' must be a string")
        return MappingProxyType(dict(conf))

    def _tables(self, top: _Section) -> tuple[TableSpec, ...]:
        tables: list[TableSpec] = []
        for number, values in enumerate(top.take("table", list, []), 1):
            if not isinstance(values, dict):
                raise SpecError(f"{self.path}: write each table as a [[table]] section")
            section = _Section(self.path, f"[[table]] {values.get('topic', number)}", values, {})
            topic = section.take("topic", str, required=True)
            name = section.take("name", str, topic)
            if not _TABLE_NAME.fullmatch(name):
                raise SpecError(
                    f"{self.path}: {section.title}: 'name' becomes a folder: letters, digits, "
                    f"'_', '.', '$' and '-' only, not {name!r}"
                )
            section.finish()
            tables.append(TableSpec(topic, name))
        for kind in ("topic", "name"):
            values = [getattr(table, kind) for table in tables]
            twice = next((value for value in values if values.count(value) > 1), None)
            if twice is not None:
                raise SpecError(f"{self.path}: two [[table]] sections have the {kind} '{twice}'")
        return tuple(tables)


def _article(kind: type) -> str:
    return {
        str: "a string",
        int: "a whole number",
        list: "a list",
        dict: "a table",
    }[kind]
