"""A Spark of its own that knows a metastore: a catalog is chosen before a Spark starts.

`python -m catalog_reader THRIFT_URI` reads a list of SQL statements as JSON and prints as JSON what
each gave, a list of rows, or its error.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from strandline_spark.session import local

TESTS = Path(__file__).parents[1]
PARTS = (TESTS, *(TESTS.parent / part for part in ("", "plugins", "spark_apps")))


def asked(uri, statements, folder):
    """What Spark says to the statements, in a folder that it may write."""
    ran = subprocess.run(
        [sys.executable, "-m", "servers.catalog_reader", uri],
        input=json.dumps(statements),
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, PARTS)),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


def _answer(spark, statement):
    try:
        return [list(row) for row in spark.sql(statement).collect()]
    except PySparkException as error:
        return str(error)


def main():
    spark = local(
        "catalog",
        spark__sql__catalogImplementation="hive",
        spark__hadoop__hive__metastore__uris=sys.argv[1],
    )
    answers = [_answer(spark, statement) for statement in json.load(sys.stdin)]
    print(json.dumps(answers, default=str))  # noqa: T201 - that is its work


if __name__ == "__main__":
    main()
