"""The unit: DuckDB's single pass from records in a file to a file of versions, on one thread."""

from pathlib import Path
from time import perf_counter

import duckdb
import pyarrow.parquet as pq

from bench import floor
from bench.cases.landed import ROW_GROUP
from bench.core.records import TOPIC, Records


class Unit:
    """The pass over some records, which lie in a folder as landing writes them."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._source, target = folder / "records.parquet", folder / "versions.parquet"
        table = records.table if records.json is None else records.json
        pq.write_table(table, self._source, compression="zstd", row_group_size=ROW_GROUP)
        query = floor.query(wrapped=records.described and records.json is None)
        self._command = f"COPY ({query}) TO '{target}' (FORMAT parquet)"
        self._versions = records.versions
        self._database = duckdb.connect(config={"threads": 1})

    def seconds(self) -> float:
        """The time of one pass."""
        given = {"files": [str(self._source)], "topic": TOPIC}
        started = perf_counter()
        made = self._database.execute(self._command, given).fetchall()
        passed = perf_counter() - started
        if made != [(self._versions,)]:
            raise ValueError(f"DuckDB made {made}, not {self._versions} versions")
        return passed

    def close(self) -> None:
        """Ends the database."""
        self._database.close()
