"""What is special about each connector, in columns; the rules stand in `strandline.connectors`."""

from strandline_spark.connectors.connector import Connector
from strandline_spark.connectors.mysql import MySQL
from strandline_spark.connectors.postgresql import PostgreSQL

CONNECTORS: dict[str, Connector] = {
    name: connector for connector in (MySQL(), PostgreSQL()) for name in connector.names
}

__all__ = ["CONNECTORS", "Connector"]
