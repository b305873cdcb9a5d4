"""Strandline: Debezium change events in Kafka become SCD2 history tables in Delta Lake.

This package is the noun of the project and needs the standard library only: what a record, a
change, a position, a fence, a version, a source, a manifest is, and the readable interpreter that
every other engine has to agree with.
"""

__version__ = "0.1.0"
