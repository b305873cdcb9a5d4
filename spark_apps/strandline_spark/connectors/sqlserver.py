"""SQL Server in columns; the rules and their sources are in `strandline.connectors.sqlserver`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS
from strandline.connectors.sqlserver import BEGIN_SINCE
from strandline_spark.connectors.connector import Connector, joined, known, quality, release

_PARTS = r"^([0-9a-f]{1,8}):([0-9a-f]{1,8}):([0-9a-f]{1,4})$"


class SQLServer(Connector):
    """See the module."""

    rules = CONNECTORS["sqlserver"]
    fields = ("commit_lsn", "change_lsn", "event_serial_no")

    def major(self, source: Column) -> Column:
        return _digits(source["commit_lsn"])

    def position(self, source: Column) -> Column:
        return source["commit_lsn"]

    def link(self, source: Column) -> Column:
        place = [self.major(source), _digits(source["change_lsn"]), known(source["db"])]
        return joined(":", place)

    def identity(self, source: Column) -> tuple[Column, ...]:
        serial = known(source["event_serial_no"])
        return (self.major(source), _digits(source["change_lsn"]), serial)

    def quality(self, source: Column) -> Column:
        begin = release(source) >= BEGIN_SINCE[0] * 100 + BEGIN_SINCE[1]
        return F.when(begin, quality(TimeQuality.BEGIN)).otherwise(quality(TimeQuality.COMMIT))

    def tx_id(self, source: Column) -> Column:
        return F.when(known(source["change_lsn"]).isNotNull(), known(source["commit_lsn"]))


def _digits(lsn: Column) -> Column:
    """The 20 digits of an LSN, whatever its case and padding; NULL where it is none."""
    lower = F.lower(lsn)
    parts = [
        F.lpad(F.regexp_extract(lower, _PARTS, n), w, "0") for n, w in ((1, 8), (2, 8), (3, 4))
    ]
    plain = F.when(lower.rlike("^[0-9a-f]{1,20}$"), F.lpad(lower, 20, "0"))
    return F.when(lower.rlike(_PARTS), F.concat(*parts)).otherwise(plain)
