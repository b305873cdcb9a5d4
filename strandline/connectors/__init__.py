"""What is special about each connector, one module each; nothing connector-specific is elsewhere."""

CONNECTORS = ("mariadb", "mysql", "postgresql")
