"""Strandline: Debezium change events in Kafka become SCD2 history tables in Delta Lake.

This package is the noun of the project: what a record, a change, a position, a fence, a version, a
source, a manifest is, and the law that makes histories of changes. It needs the standard library,
and msgspec to read JSON; it starts nothing and opens no connection.
"""

__version__ = "0.1.0"
