"""A connector's configuration as Kafka Connect takes it: names and values, all of them text."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from strandline.advice import redaction
from strandline.errors import SpecError

CLASS = "connector.class"


class Family(StrEnum):
    """The connectors that the rules know; every one reads its log in its own way."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    MARIADB = "mariadb"
    SQLSERVER = "sqlserver"
    DB2 = "db2"
    ORACLE = "oracle"
    YUGABYTEDB = "yugabytedb"
    """YugabyteDB's gRPC connector."""
    YUGABYTEDB_SLOT = "yugabytedb-slot"
    """YugabyteDB's connector that reads a replication slot, a fork of PostgreSQL's 2.5."""


CLASSES: Mapping[str, Family] = MappingProxyType(
    {
        "io.debezium.connector.postgresql.PostgresConnector": Family.POSTGRESQL,
        "io.debezium.connector.mysql.MySqlConnector": Family.MYSQL,
        "io.debezium.connector.mariadb.MariaDbConnector": Family.MARIADB,
        "io.debezium.connector.sqlserver.SqlServerConnector": Family.SQLSERVER,
        "io.debezium.connector.db2.Db2Connector": Family.DB2,
        "io.debezium.connector.oracle.OracleConnector": Family.ORACLE,
        "io.debezium.connector.yugabytedb.YugabyteDBgRPCConnector": Family.YUGABYTEDB,
        "io.debezium.connector.yugabytedb.YugabyteDBConnector": Family.YUGABYTEDB,
        "io.debezium.connector.postgresql.YugabyteDBConnector": Family.YUGABYTEDB_SLOT,
    }
)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of one connector. `name` is None where the file gives none."""

    name: str | None
    family: Family
    settings: Mapping[str, str]

    def get(self, setting: str) -> str | None:
        """The value of a setting without white space around it; None where it is absent or blank.

        Connect treats a blank value of nearly every setting as its absence.
        """
        return self.settings.get(setting, "").strip() or None

    def items(self, setting: str) -> tuple[str, ...]:
        """The parts of a setting that is a comma-separated list."""
        parts = (self.get(setting) or "").split(",")
        return tuple(part.strip() for part in parts if part.strip())

    def under(self, prefix: str) -> "Configuration":
        """The settings that start with a prefix, without it."""
        below = {
            name.removeprefix(prefix): value
            for name, value in self.settings.items()
            if name.startswith(prefix)
        }
        return Configuration(self.name, self.family, below)


def is_configuration(path: Path) -> bool:
    """True for what is to be read as a connector configuration: by its name, else its first sign.

    A file that cannot be read is none; whoever reads it as something else says why.
    """
    if path.suffix.lower() in {".json", ".toml"}:
        return path.suffix.lower() == ".json"
    try:
        with path.open("rb") as file:
            return file.read(64).removeprefix(BOM_UTF8).lstrip().startswith(b"{")
    except OSError:
        return False


def read(path: Path) -> Configuration:
    """The configuration in a JSON file.

    Either `{"name": …, "config": {…}}`, as Connect's REST API takes and gives it, or the settings
    alone. Raises `SpecError` with one line that says what to fix and quotes no value but the class.
    """
    document = _document(path)
    wrapped = document.get("config")
    entries = wrapped if isinstance(wrapped, dict) else document
    if CLASS not in entries:
        raise SpecError(
            f"{path}: no '{CLASS}', so this is no connector configuration: give what is sent to "
            'POST /connectors, {"name": …, "config": {…}}, or the settings alone'
        )
    settings = {name: _text(path, name, value) for name, value in entries.items()}
    present = {name: value for name, value in settings.items() if value is not None}
    name = present.get("name") or (document.get("name") if wrapped is entries else None)
    family = _family(path, present.get(CLASS, ""))
    return Configuration(name and str(name), family, MappingProxyType(present))


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(
            path.read_text(encoding="utf-8-sig"),
            object_pairs_hook=lambda pairs: _once(path, pairs),
            parse_int=str,  # Connect takes a number as the text that it is
            parse_float=str,
            parse_constant=str,
        )
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text: byte {error.start} is none of it") from error
    except json.JSONDecodeError as error:
        raise SpecError(
            f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}"
        ) from error
    except RecursionError as error:
        raise SpecError(f"{path}: nested too deeply for a connector configuration") from error
    if not isinstance(document, dict):
        raise SpecError(f"{path}: a connector configuration is a JSON object, this is none")
    return document


def _once(path: Path, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in pairs:
        if name in document:
            shown = redaction.setting(name)
            raise SpecError(
                f"{path}: '{shown}' stands there twice; Connect takes the last: keep one"
            )
        document[name] = value
    return document


def _text(path: Path, name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    kind = "a list" if isinstance(value, list) else "an object"
    shown = redaction.setting(name)
    raise SpecError(f"{path}: '{shown}' must be text, not {kind}: Connect's settings are flat")


def _family(path: Path, name: str) -> Family:
    meant = [known for known in CLASSES if name.strip() in _aliases(known)]
    if name.strip() in CLASSES or len(meant) == 1:
        return CLASSES[meant[0]]
    if meant:
        raise SpecError(f"{path}: connector class '{name.strip()}' is one of {', '.join(meant)}")
    raise SpecError(
        f"{path}: unknown connector class '{redaction.value(CLASS, name)}'; "
        f"known are {', '.join(CLASSES)}"
    )


def _aliases(known: str) -> set[str]:
    """Connect also takes a plugin's simple class name, with `Connector` at its end or without."""
    simple = known.rpartition(".")[2]
    return {known, simple, simple.removesuffix("Connector")}
