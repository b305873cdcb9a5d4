"""PostgreSQL in columns; the rules and their sources are in `strandline.connectors.postgresql`."""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from strandline.changes.version import TimeQuality
from strandline.connectors import CONNECTORS
from strandline_spark.connectors.connector import Connector, hexadecimal, joined, known, quality

_WIDTH = 16  # digits of one number of the pair that orders
_PAIR = r'^\s*\[\s*("\d+"|0|[1-9]\d*|null)\s*,\s*("\d+"|0|[1-9]\d*|null)\s*\]\s*$'
_NO_PAIR = "?"


class PostgreSQL(Connector):
    """See the module."""

    rules = CONNECTORS["postgresql"]
    fields = ("sequence", "lsn", "txId")

    def major(self, source: Column) -> Column:
        commit, lsn = _sequence(source)
        return F.concat(hexadecimal(commit, _WIDTH), hexadecimal(lsn, _WIDTH))

    def position(self, source: Column) -> Column:
        return F.concat_ws("/", *_sequence(source))

    def link(self, source: Column) -> Column:
        return joined(":", [known(source["txId"]), _sequence(source)[1]])

    def identity(self, source: Column) -> tuple[Column, ...]:
        return (_sequence(source)[1], source["txId"])

    def quality(self, source: Column) -> Column:
        del source
        return quality(TimeQuality.COMMIT)

    def tx_id(self, source: Column) -> Column:
        return known(source["txId"])

    def in_flight(self, source: Column) -> Column:
        return _pair(source)[0].isNull()

    def own(self, seq: Column, position: Column) -> Mapping[str, Column]:
        epoch, rest = seq.substr(1, 4), seq.substr(F.lit(5 + _WIDTH), F.length(seq))
        lsn, number = rest.substr(1, _WIDTH), F.substring_index(position, "/", -1)
        return {
            "_seq": F.concat(epoch, lsn, rest),
            "_position": F.concat_ws("/", number, number),
        }


def _pair(source: Column) -> tuple[Column, Column]:
    text = source["sequence"]
    # What is no pair is no position either, where no `sequence` at all leaves that to the lsn.
    parts = F.when(text.rlike(_PAIR), F.translate(text, '[]" ', "")).otherwise(_NO_PAIR)
    pair = F.when(text.isNotNull(), F.split(parts, ","))
    return _number(F.get(pair, F.lit(0))), _number(F.get(pair, F.lit(1)))


def _sequence(source: Column) -> tuple[Column, Column]:
    commit, last = _pair(source)
    lsn = F.coalesce(last, source["lsn"])
    return F.coalesce(commit, lsn), lsn


def _number(element: Column) -> Column:
    return F.when(element != "null", element)
