"""MySQL and MariaDB (Debezium `mysql`, `mariadb`).

Order: (number of the binlog file, `source.pos`) as integers: `mysql-bin.999999` comes before
`mysql-bin.1000000` (debezium-facts §1.1). `row` is part of the identity, not of the order, and
means nothing for a truncate. Time: `source.ts_us`; the commit time where MySQL sends a GTID with
microseconds, else the start of the statement in whole seconds.
"""

import re
from collections.abc import Mapping
from typing import Any

from strandline.connectors.connector import Connector, Moment
from strandline.errors import UndecodableError
from strandline.position import Position, digits
from strandline.version import TimeQuality

# The last run of digits: `mysql-bin.000003`, and MariaDB 12.3's `binlog-000003.ibb`.
_FILE_NUMBER = re.compile(r"(\d+)\D*$")


class MySQL(Connector):
    """See the module."""

    names = ("mysql", "mariadb")

    def position(self, source: Mapping[str, Any]) -> Position:
        file, pos = str(source.get("file") or ""), source.get("pos")
        number = _FILE_NUMBER.search(file)
        if number is None:
            raise UndecodableError("no_position", f"source.file is {file!r}, without a number")
        major = digits(number[1], 8, "the number of source.file") + digits(pos, 16, "source.pos")
        text = f"{file}:{pos}"
        return Position(major, text, f"{text}:{source.get('row')}")

    def identity(self, source: Mapping[str, Any]) -> tuple[object, ...]:
        return (source.get("file"), str(source.get("pos")), source.get("row"))

    def time(self, source: Mapping[str, Any], *, snapshot: bool) -> Moment:
        if snapshot:
            return Moment.of(source, TimeQuality.SNAPSHOT)
        exact = source.get("connector") == "mysql" and source.get("gtid") and source.get("ts_us")
        return Moment.of(source, TimeQuality.COMMIT if exact else TimeQuality.STATEMENT)

    def tx_id(self, source: Mapping[str, Any]) -> str | None:
        gtid = source.get("gtid")
        return None if gtid is None else str(gtid)
