"""Frames of one row."""

from pyspark.sql import DataFrame, Row


def single(rows: DataFrame) -> Row:
    """The row of a frame that always has one: an aggregate without groups, a command's result."""
    return rows.head(1)[0]
