"""PostgreSQL in columns; the rules and their sources are in `strandline.connectors.postgresql`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.version import TimeQuality
from strandline_spark.connectors.connector import Connector, hexadecimal, quality


class PostgreSQL(Connector):
    """See the module."""

    names = ("postgresql",)
    fields = ("sequence", "lsn", "txId")

    def major(self, source: Column) -> Column:
        commit, lsn = _sequence(source)
        return F.concat(hexadecimal(commit, 16), hexadecimal(lsn, 16))

    def position(self, source: Column) -> Column:
        return F.concat_ws("/", *_sequence(source))

    def link(self, source: Column) -> Column:
        return F.concat_ws(":", source["txId"], _sequence(source)[1])

    def identity(self, source: Column) -> tuple[Column, ...]:
        return (_sequence(source)[1], source["txId"])

    def quality(self, source: Column) -> Column:
        del source
        return quality(TimeQuality.COMMIT)

    def tx_id(self, source: Column) -> Column:
        return source["txId"]


def _sequence(source: Column) -> tuple[Column, Column]:
    pair = F.split(F.translate(source["sequence"], '[]" ', ""), ",")
    lsn = F.coalesce(_number(F.get(pair, F.lit(1))), source["lsn"])
    return F.coalesce(_number(F.get(pair, F.lit(0))), lsn), lsn


def _number(element: Column) -> Column:
    return F.when(element != "null", element)
