"""The programs that the documentation and the demo show: each is run as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from examples.captures import CAPTURES
from examples.snippets import SNIPPETS, snippet
from strandline.changes.version import COLUMNS
from strandline.law import interpret

PROJECT = Path(__file__).parents[2]
DOCUMENT = PROJECT / "docs" / "reading-history.md"
LAKE = ".strandline/demo/lake/postgres_inventory"
TABLE = "tables/public.orders/history"
ARROW = {
    "timestamp": pa.timestamp("us", "UTC"),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "array<string>": pa.list_(pa.string()),
}


def programs(*words):
    """The Python blocks of the document that hold all the words and none of Spark's."""
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return [block for block in blocks if all(word in block for word in words)]


def run(program, lake):
    done = subprocess.run(
        [sys.executable, "-c", program.replace(LAKE, str(lake))],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The history of the recorded orders, written without Spark."""
    folder = tmp_path_factory.mktemp("lake")
    histories = interpret(CAPTURES[0].records())
    [orders] = [table for table in histories.tables if table.topic.endswith(".orders")]
    rows = [version.cells() for version in orders.versions]
    columns = {name: pa.array([row[name] for row in rows]) for name in orders.columns}
    for name, kind in COLUMNS:
        columns[name] = pa.array([row[name] for row in rows], ARROW[kind])
    write_deltalake(folder / TABLE, pa.table(columns))
    publication = {"number": [1], "table": ["public.orders"], "history_version": [0]}
    write_deltalake(folder / "publications", pa.table(publication))
    return folder


def test_the_document_reads_the_current_rows_with_deltalake(lake):
    [program] = programs("QueryBuilder", "WHERE _is_current")

    assert "customer_id" in run(program, lake)


def test_the_document_reads_the_rows_of_an_instant_with_duckdb(lake):
    [program] = programs("import duckdb")

    assert "customer_id" in run(program, lake)


def test_the_document_reads_the_versions_that_belong_together(lake):
    [program] = programs("publications")

    assert run(program, lake) == "public.orders 0\n"


@pytest.mark.heavy
def test_the_document_and_the_demo_read_with_spark(lake):
    """One Spark for both: starting it is what takes the time."""
    [document] = programs("SparkSession")
    shown = snippet("PySpark", str(lake / TABLE))

    output = run(f"{document}\n{shown}", lake)

    assert '|{"id":905}|' in output
    assert output.count("_is_current") == 3


@pytest.mark.parametrize("engine", sorted(set(SNIPPETS) - {"PySpark"}))
def test_the_demo_reads_with_engines_that_need_no_spark(lake, engine):
    assert run(snippet(engine, str(lake / TABLE)), lake)


def test_a_path_of_any_letters_stays_a_path():
    assert "path = '/it\\'s \"here\"'" in snippet("DuckDB", """/it's "here\"""")
