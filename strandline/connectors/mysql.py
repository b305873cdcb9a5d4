"""MySQL, MariaDB, and Tencent's MySQL subscription (Debezium `mysql`, `mariadb`).

Order: (number of the binlog file, `source.pos`) as integers: `mysql-bin.999999` comes before
`mysql-bin.1000000`. `row` is part of the identity, not of the order, and means nothing for a
truncate. With compressed transactions all changes of a transaction share one position. Time:
`source.ts_us`; the commit time where MySQL sends a GTID with microseconds, else the start of the
statement in whole seconds. See docs/facts/positions.md, "MySQL and MariaDB".
"""

import re
from collections.abc import Mapping
from typing import Any

from strandline.cells.types import Dialect
from strandline.changes.position import Position, digits
from strandline.changes.version import TimeQuality
from strandline.connectors import mysql_types
from strandline.connectors.connector import Connector, Moment, text
from strandline.errors import UndecodableError

# The last run of digits: `mysql-bin.000003`, and MariaDB 12.3's `binlog-000003.ibb`.
_FILE_NUMBER = re.compile(r"([0-9]+)[^0-9]*$")


class MySQL(Connector):
    """See the module. Tencent's subscription sends Debezium's MySQL envelopes."""

    names = ("mysql", "mariadb", "tencent")
    accepts = ("mysql", "mariadb")
    dialect = Dialect(fraction=6, two_printers=True)
    shares = True
    reads_newest = True

    def recognises(self, source: Mapping[str, Any]) -> bool:
        return source.get("file") is not None and source.get("pos") is not None

    def position(self, source: Mapping[str, Any]) -> Position:
        file, pos = str(source.get("file") or ""), source.get("pos")
        number = _FILE_NUMBER.search(file)
        if number is None:
            raise UndecodableError("no_position", f"source.file is {file!r}, without a number")
        major = digits(number[1], 8, "the number of source.file") + digits(pos, 16, "source.pos")
        place = f"{file}:{pos}"
        return Position(major, place, f"{place}:{source.get('row')}")

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        return (text(source.get("file")), text(source.get("pos")), text(source.get("row")))

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        if snapshot:
            return Moment.of(source, TimeQuality.SNAPSHOT)
        exact = source.get("connector") == "mysql" and source.get("gtid") and source.get("ts_us")
        return Moment.of(source, TimeQuality.COMMIT if exact else TimeQuality.STATEMENT)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        return text(source.get("gtid"))

    def connect_schema(self, native: Mapping[str, Any]) -> dict[str, Any] | None:
        return mysql_types.connect_schema(native)
