"""Windows over the rows of one key."""

from pyspark.sql import Column, Window, WindowSpec
from pyspark.sql import functions as F


def of_key(*names: str | Column) -> WindowSpec:
    """The rows of a key, or those of them that agree in further columns; in no order.

    A key's text begins like those of all others of its table, and rows are sorted by how they
    begin: a number made of the key goes before it, so that few texts have to be compared.
    """
    return Window.partitionBy(F.xxhash64("_key"), "_key", *names)
