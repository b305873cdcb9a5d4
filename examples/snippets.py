"""How to read a history: short programs for three engines, as the demo prints them."""

from string import Template

_PYSPARK = """\
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.config("spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .getOrCreate()
)
path = $path
history = spark.read.format("delta").load(path)
history.where("_is_current").show()
"""

_DUCKDB = """\
import duckdb
from deltalake import DeltaTable, QueryBuilder

path = $path
history = QueryBuilder().register("history", DeltaTable(path)).execute("SELECT * FROM history")
print(duckdb.sql("SELECT _op, _closed_by, count(*) FROM history GROUP BY ALL ORDER BY ALL"))
"""

_DELTALAKE = """\
from deltalake import DeltaTable, QueryBuilder

path = $path
history = QueryBuilder().register("history", DeltaTable(path))
print(history.execute("SELECT * FROM history WHERE _is_current").read_all())
"""

SNIPPETS = {"PySpark": _PYSPARK, "DuckDB": _DUCKDB, "deltalake": _DELTALAKE}


def snippet(engine: str, path: str) -> str:
    """The program that reads the history at `path` with an engine of `SNIPPETS`."""
    return Template(SNIPPETS[engine]).substitute(path=repr(path))
