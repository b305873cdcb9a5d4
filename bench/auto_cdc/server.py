"""Updates of pipelines in one Spark: `python server.py CORES SETTINGS`, the settings as JSON.

Each line of standard input is a command as JSON, each line of standard output the answer to it,
after a first one that says that Spark has started. All else goes to standard error.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.pipelines import cli
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main() -> None:
    """Serves until the input ends."""
    cores, settings = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the pipeline's own words go to standard output
    builder = SparkSession.builder.remote(f"local[{cores}]")
    for key, value in json.loads(settings).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    answers.write("started\n")
    for line in sys.stdin:
        command = json.loads(line)
        if "update" in command:
            update(spark, Path(command["update"]))
        else:
            export(spark, command["export"], Path(command["to"]), command["columns"])
        answers.write("done\n")
    spark.stop()


def update(spark: SparkSession, path: Path) -> None:
    """What `spark-pipelines run --spec PATH` does, but that Spark and its session stand already."""
    spec = cli.load_pipeline_spec(path)
    graph = cli.create_dataflow_graph(
        spark,
        default_catalog=spec.catalog,
        default_database=spec.database,
        sql_conf=spec.configuration,
    )
    registry = SparkConnectGraphElementRegistry(spark, graph)
    cli.register_definitions(path, registry, spec, spark, graph)
    events = cli.start_run(
        spark,
        graph,
        full_refresh=[],
        full_refresh_all=False,
        refresh=[],
        dry=False,
        storage=spec.storage,
    )
    cli.handle_pipeline_events(events)


def export(spark: SparkSession, table: str, target: Path, columns: Mapping[str, str]) -> None:
    """Writes a table as one Parquet file, its columns being expressions by name."""
    rows = spark.table(table).select(*(F.expr(told).alias(name) for name, told in columns.items()))
    folder = target.with_suffix(".exported")
    rows.coalesce(1).write.mode("overwrite").parquet(str(folder))
    (written,) = folder.glob("*.parquet")
    written.rename(target)


if __name__ == "__main__":
    main()
