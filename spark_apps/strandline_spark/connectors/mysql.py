"""MySQL and MariaDB in columns; rules and sources are in `strandline.connectors.mysql`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS
from strandline_spark.connectors.connector import Connector, hexadecimal, joined, known, quality


class MySQL(Connector):
    """See the module."""

    rules = CONNECTORS["mysql"]
    fields = ("file", "pos", "row", "gtid")

    def major(self, source: Column) -> Column:
        number = F.regexp_extract(source["file"], r"([0-9]+)[^0-9]*$", 1)
        return F.concat(hexadecimal(number, 8), hexadecimal(source["pos"], 16))

    def position(self, source: Column) -> Column:
        return F.concat_ws(":", source["file"], source["pos"])

    def link(self, source: Column) -> Column:
        return joined(":", [source["file"], source["pos"], source["row"]])

    def identity(self, source: Column) -> tuple[Column, ...]:
        return (source["file"], source["pos"], source["row"])

    def quality(self, source: Column) -> Column:
        exact = (
            (source["connector"] == "mysql")
            & known(source["gtid"]).isNotNull()
            & source["ts_us"].isNotNull()
        )
        return F.when(exact, quality(TimeQuality.COMMIT)).otherwise(quality(TimeQuality.STATEMENT))

    def tx_id(self, source: Column) -> Column:
        return known(source["gtid"])
