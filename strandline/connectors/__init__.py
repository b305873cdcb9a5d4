"""What is special about each connector, one module each; no other module knows any of it."""

from collections.abc import Mapping
from typing import Any

from strandline.connectors.connector import Connector
from strandline.connectors.db2 import Db2
from strandline.connectors.mysql import MySQL
from strandline.connectors.oracle import Oracle
from strandline.connectors.postgresql import PostgreSQL
from strandline.connectors.sqlserver import SQLServer
from strandline.connectors.yugabytedb import YugabyteDB

# PostgreSQL first: what both accept is YugabyteDB's only where a source file says so. Db2 before
# SQL Server: the form of its LSN tells the two apart where a `source` names no connector.
_ALL: tuple[Connector, ...] = (
    MySQL(),
    Oracle(),
    Db2(),
    SQLServer(),
    PostgreSQL(),
    YugabyteDB(),
)

CONNECTORS: dict[str, Connector] = {
    name: connector for connector in _ALL for name in connector.names
}


def named(name: str | None) -> Connector | None:
    """The connector of that name; None where each record has to say which one has sent it."""
    return None if name is None else CONNECTORS[name]


def of(source: Mapping[str, Any]) -> Connector | None:
    """The connector that a `source` names, or that its fields give away where it names none."""
    name = source.get("connector")
    if name:
        return next((each for each in _ALL if name in each.accepts), None)
    return next((each for each in _ALL if each.recognises(source)), None)


def of_tombstone() -> Connector:
    """What reads a key where no `source` names a connector: only wrapped cells need one."""
    return CONNECTORS["yugabytedb"]


__all__ = ["CONNECTORS", "Connector", "named", "of", "of_tombstone"]
