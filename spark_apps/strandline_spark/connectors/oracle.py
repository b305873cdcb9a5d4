"""Oracle in columns; the rules and their sources are in `strandline.connectors.oracle`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS
from strandline.connectors.oracle import LCR, WIDTH
from strandline_spark.connectors.connector import (
    Connector,
    joined,
    known,
    quality,
    thousandfold,
)


class Oracle(Connector):
    """See the module."""

    rules = CONNECTORS["oracle"]
    fields = ("scn", "commit_scn", "txId", "txSeq", "rs_id", "ssn", "lcr_position", "commit_ts_ms")

    def major(self, source: Column) -> Column:
        scn = self.position(source)
        return F.when(scn.rlike(rf"^[0-9]{{1,{WIDTH}}}$"), F.lpad(scn, WIDTH, "0"))

    def position(self, source: Column) -> Column:
        return F.coalesce(_commit(source), source["scn"])

    def link(self, source: Column) -> Column:
        return joined(":", [known(source["txId"]), self.major(source)])

    def identity(self, source: Column) -> tuple[Column, ...]:
        names = ("commit_scn", "txId", "scn", "rs_id", "ssn", "lcr_position")
        return tuple(known(source[name]) for name in names)

    def ordinal(self, source: Column, transaction: Column) -> Column:
        return F.coalesce(known(source["txSeq"]), super().ordinal(source, transaction))

    def micros(self, source: Column) -> Column:
        return F.when(
            _snapshot(source) | thousandfold(source["commit_ts_ms"]).isNull(),
            super().micros(source),
        ).otherwise(thousandfold(source["commit_ts_ms"]))

    def quality(self, source: Column) -> Column:
        commit = thousandfold(source["commit_ts_ms"]).isNotNull()
        return F.when(commit, quality(TimeQuality.COMMIT)).otherwise(quality(TimeQuality.CHANGE))

    def tx_id(self, source: Column) -> Column:
        return known(source["txId"])

    def in_flight(self, source: Column) -> Column:
        return _commit(source).isNull()


def _commit(source: Column) -> Column:
    """The SCN of the commit; NULL where nothing tells it."""
    commit, lcr = source["commit_scn"], source["lcr_position"]
    own = F.conv(F.regexp_extract(lcr, f"^{LCR}$", 2), 16, 10) == source["scn"]
    told = F.when(lcr.rlike(f"^{LCR}$") & own, F.conv(F.regexp_extract(lcr, f"^{LCR}$", 1), 16, 10))
    return F.when(commit.isin("", "0") | commit.isNull(), told).otherwise(commit)


def _snapshot(source: Column) -> Column:
    return ~F.coalesce(source["snapshot"], F.lit("false")).isin("false", "null")
