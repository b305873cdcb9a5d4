"""BMDBDB and YugabyteDB in columns; the rules are in `strandline.connectors.yugabytedb`."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.cells.spelling import STRING
from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS
from strandline_spark.connectors.connector import Connector, hexadecimal, known, quality, whole
from strandline_spark.connectors.postgresql import PostgreSQL

_LSN = r"^([0-9]+):([0-9]+):[^:]*:[^:]*:[^:]*$"
# As Spark prints documents that it was asked for as texts: without white space. A text that looks
# like a document may have some.
_CELL = rf'\A\{{"(?:value|set)":(?:[^"\s]++|{STRING})*+\z'
_SCALAR = rf'\A\{{"value":(?:{STRING}|[^"\[{{,}}\s]++)(?:,"set":(?:true|false))?\}}\z'  # soon told
_LOGICAL_BITS = 12


class YugabyteDB(Connector):
    """See the module."""

    rules = CONNECTORS["yugabytedb"]
    fields = ("lsn", "commit_time", "tablet_id", "txId", "sequence")

    def major(self, source: Column) -> Column:
        commit = known(source["commit_time"])
        grpc = F.when(commit.isNotNull(), hexadecimal(commit, 16)).otherwise(_place(source))
        return F.when(_is_grpc(source), grpc).otherwise(_LOGICAL.major(source))

    def fence(self, source: Column) -> Column:
        major = self.major(source)
        own = F.when(self.local(source).isNotNull(), F.concat(major, _place(source)))
        return F.when(_is_grpc(source) & _is_untimed(source), own).otherwise(major)

    def local(self, source: Column) -> Column:
        timed = _is_grpc(source) & known(source["commit_time"]).isNotNull()
        return F.when(timed, F.concat(_place(source), F.lit("@"), known(source["tablet_id"])))

    def position(self, source: Column) -> Column:
        tablet = F.when(self.local(source).isNotNull(), known(source["tablet_id"]))
        at = F.concat_ws("@", source["lsn"], tablet)
        return F.when(_is_grpc(source), at).otherwise(_LOGICAL.position(source))

    def link(self, source: Column) -> Column:
        place = F.concat_ws(":", _part(source, 1), _part(source, 2))
        grpc = F.coalesce(known(source["commit_time"]), known(source["txId"]), place)
        return F.when(_is_grpc(source), grpc).otherwise(_LOGICAL.link(source))

    def identity(self, source: Column) -> tuple[Column, ...]:
        return tuple(known(source[name]) for name in ("lsn", "commit_time", "tablet_id", "txId"))

    def micros(self, source: Column) -> Column:
        hybrid = whole(source["commit_time"])
        return F.when(hybrid > 0, F.shiftright(hybrid, _LOGICAL_BITS)).otherwise(
            super().micros(source)
        )

    def quality(self, source: Column) -> Column:
        del source
        return quality(TimeQuality.COMMIT)

    def tx_id(self, source: Column) -> Column:
        return known(source["txId"])

    def scope(self, source: Column) -> Column:
        table, tablet = super().scope(source), known(source["tablet_id"])
        untimed = known(source["commit_time"]).isNull() | _is_untimed(source)
        own = untimed & tablet.isNotNull()
        return F.when(own, F.concat(table, F.lit("@"), tablet)).otherwise(table)

    def is_wrapped(self, cell: Column) -> Column:
        names = F.json_object_keys(cell)
        others = F.array_except(names, F.array(F.lit("value"), F.lit("set")))
        as_a_cell = F.array_contains(names, "value") & (F.size(others) == 0)
        found = F.when(cell.rlike(_SCALAR), F.lit(True)).when(cell.rlike(_CELL), as_a_cell)
        return F.coalesce(found, F.lit(False))


_LOGICAL = PostgreSQL()


def _is_grpc(source: Column) -> Column:
    return F.coalesce(source["lsn"].contains(":"), F.lit(False))


def _is_untimed(source: Column) -> Column:
    return F.coalesce(whole(source["commit_time"]) == 0, F.lit(False))


def _place(source: Column) -> Column:
    return F.concat(hexadecimal(_part(source, 1), 16), hexadecimal(_part(source, 2), 16))


def _part(source: Column, number: int) -> Column:
    return F.regexp_extract(source["lsn"], _LSN, number)
