"""The floor of the machine: DuckDB decodes, sorts and writes in one pass. Into nothing only."""

from typing import ClassVar

import duckdb
from deltalake import DeltaTable

from bench.columns import COLUMNS, KEY
from bench.contenders.contender import Contender
from bench.contenders.merge import VERSION


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
            query = _query(wrapped=self.case.shape.schemas)
            self.database.execute(
                f"COPY ({query}) TO '{target}' (FORMAT parquet)",
                {"files": landing.file_uris(), "topic": topic},
            )

    def history(self, table: str) -> tuple[str, dict[str, str]]:
        """See `Contender`."""
        return str(self.folder / f"{table}.parquet"), {name: name for name in VERSION}

    def stop(self) -> None:
        self.database.close()


_TYPES = {"STRING": "VARCHAR"}


def _query(*, wrapped: bool) -> str:
    row = ", ".join(f'"{c.name}": "{_TYPES.get(c.sql, c.sql)}"' for c in COLUMNS)
    envelope = (
        f'{{"before": {{"{KEY}": "BIGINT"}}, "after": {{{row}}}, "op": "VARCHAR", '
        '"source": {"lsn": "BIGINT", "ts_us": "BIGINT"}}'
    )
    structure = f'{{"payload": {envelope}}}' if wrapped else envelope
    event = f"from_json(decode(value), '{structure}')" + (".payload" if wrapped else "")
    columns = ", ".join(f"event.after.{c.name} AS {c.name}" for c in COLUMNS)
    return f"""
        WITH decoded AS (
            SELECT {event} AS event FROM read_parquet($files)
            WHERE topic = $topic AND value IS NOT NULL
        ), placed AS (
            SELECT event, event.source.ts_us AS valid_from,
                   lead(event.source.ts_us) OVER (
                       PARTITION BY coalesce(event.after.{KEY}, event.before.{KEY})
                       ORDER BY event.source.lsn
                   ) AS valid_to
            FROM decoded
        )
        SELECT {columns}, valid_from, valid_to, valid_to IS NULL AS is_current
        FROM placed WHERE event.op <> 'd'
    """  # noqa: S608 - built from this module's own words
