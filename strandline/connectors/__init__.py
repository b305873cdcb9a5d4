"""What is special about each connector, one module each; no other module knows any of it."""

from strandline.connectors.connector import Connector
from strandline.connectors.mysql import MySQL
from strandline.connectors.postgresql import PostgreSQL

CONNECTORS: dict[str, Connector] = {
    name: connector for connector in (MySQL(), PostgreSQL()) for name in connector.names
}

__all__ = ["CONNECTORS", "Connector"]
