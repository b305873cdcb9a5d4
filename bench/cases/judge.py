"""Whether a contender's history is the right one, row by row."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

from bench.cases.columns import KEY
from bench.cases.stream import START_US

_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many rows there are and should be, and how many keys have a wrong history."""

    rows: int
    expected: int
    wrong_keys: int

    @property
    def right(self) -> bool:
        return self.rows == self.expected and not self.wrong_keys


def judged(expected: Path, uri: str, names: Mapping[str, str]) -> Verdict:
    """Compares the history at `uri` with the expected one, in the columns that it has.

    A sum over hashes of rows tells whether they are the same; only where not are keys looked for.
    Versions from before the stream (`bench.cases.repeating`) are left out.
    """
    schema = pa.schema([pq.read_schema(expected).field(name) for name in names])
    with duckdb.connect(config={"memory_limit": "4GB"}) as database:
        columns = ", ".join(names)
        wanted = f"SELECT {columns} FROM read_parquet('{expected}')"  # noqa: S608 - own names
        found = pa.RecordBatchReader.from_batches(schema, _rows(uri, names, schema))
        database.register("found", found)
        database.execute(f"CREATE TEMP TABLE kept AS SELECT {columns} FROM found")  # noqa: S608
        rows, one = _summed(database, f"SELECT {columns} FROM kept", columns)  # noqa: S608
        count, other = _summed(database, wanted, columns)
        if (rows, one) == (count, other):
            return Verdict(rows, count, 0)
        differing = (
            f"SELECT count(DISTINCT {KEY}) FROM (({wanted} EXCEPT ALL FROM kept)"  # noqa: S608
            f" UNION ALL (FROM kept EXCEPT ALL {wanted}))"
        )
        (wrong,) = database.execute(differing).fetchone() or (0,)
        return Verdict(rows, count, wrong)


def before_the_stream(uri: str, names: Mapping[str, str]) -> int:
    """How many versions of the history at `uri` are from before the stream."""
    query = QueryBuilder().register("history", DeltaTable(uri))
    sql = f"SELECT count(*) FROM history WHERE NOT {_of_the_stream(names)}"  # noqa: S608 - own names
    found = query.execute(sql)
    return int(pa.table(found.read_all())[0][0].as_py())


def followed(expected: Path) -> int:
    """How many versions of the expected history have another one of their key behind them."""
    with duckdb.connect() as database:
        query = f"SELECT count(*) - count(DISTINCT {KEY}) FROM read_parquet('{expected}')"  # noqa: S608 - own names
        (count,) = database.execute(query).fetchone() or (0,)
    return int(count)


def _of_the_stream(names: Mapping[str, str]) -> str:
    return f"""("{names["valid_from"]}" >= to_timestamp_micros({START_US}))"""


def _summed(database: duckdb.DuckDBPyConnection, query: str, columns: str) -> tuple[int, int]:
    found = database.execute(
        f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM ({query})"  # noqa: S608
    ).fetchone()
    return (found[0], found[1]) if found else (0, 0)


def _rows(uri: str, names: Mapping[str, str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The history's rows under the names and in the types of the expected one."""
    if uri.endswith(".parquet"):
        source = pq.ParquetFile(uri).iter_batches(_ROWS, columns=list(names.values()))
    else:
        columns = ", ".join(f'"{own}" AS "{name}"' for name, own in names.items())
        query = QueryBuilder().register("history", DeltaTable(uri))
        sql = f"SELECT {columns} FROM history WHERE {_of_the_stream(names)}"  # noqa: S608 - own names
        stream = query.execute(sql)
        source = pa.RecordBatchReader.from_stream(stream)
    for batch in source:
        yield pa.RecordBatch.from_arrays(
            [batch[name].cast(schema.field(name).type) for name in schema.names], schema=schema
        )
