"""What is special about each connector, in columns; the rules stand in `strandline.connectors`."""

from strandline_spark.connectors.connector import Connector
from strandline_spark.connectors.mysql import MySQL
from strandline_spark.connectors.oracle import Oracle
from strandline_spark.connectors.postgresql import PostgreSQL
from strandline_spark.connectors.sqlserver import SQLServer
from strandline_spark.connectors.yugabytedb import YugabyteDB

CONNECTORS: dict[str, Connector] = {
    name: connector
    for connector in (MySQL(), Oracle(), PostgreSQL(), SQLServer(), YugabyteDB())
    for name in connector.rules.names
}

__all__ = ["CONNECTORS", "Connector"]
