"""The floor of the machine: DuckDB decodes, sorts and writes in one pass. Into nothing only."""

from typing import ClassVar

import duckdb
from deltalake import DeltaTable

from bench.contenders.contender import Contender
from bench.contenders.merge import VERSION
from bench.floor import query


class DuckDBPass(Contender):
    """One query per table, from the landing table's files to one Parquet file."""

    name: ClassVar[str] = "duckdb"
    state: ClassVar[str] = "duckdb"

    def start(self, memory: str, cores: int) -> None:
        self.database = duckdb.connect(config={"memory_limit": f"{memory}b", "threads": cores})
        self.database.execute("SET temp_directory = ?", [str(self.folder / "spill")])

    def prepare(self) -> None:
        if self.case.shape.base:
            raise ValueError("DuckDB takes part in workloads that begin with nothing")
        self.folder.mkdir(parents=True, exist_ok=True)

    def apply(self, batch: int) -> None:
        landing = DeltaTable(str(self.case.landing), version=self.case.versions[batch])
        for table in self.case.tables:
            target = self.folder / f"{table}.parquet"
            topic = self.case.ranges(table, batch)[0].topic
            history = query(wrapped=self.case.shape.schemas)
            self.database.execute(
                f"COPY ({history}) TO '{target}' (FORMAT parquet)",
                {"files": landing.file_uris(), "topic": topic},
            )

    def history(self, table: str) -> tuple[str, dict[str, str]]:
        """See `Contender`."""
        return str(self.folder / f"{table}.parquet"), {name: name for name in VERSION}

    def stop(self) -> None:
        self.database.close()
