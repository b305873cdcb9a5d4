"""`python -m examples.rehearsal`: a Spark that folds a recording, for the classes that this takes.

It ends when its JVM has, and like it: at its end the JVM writes the archive that it was told to
(`jvm.py`).
"""

import sys

from pyspark import SparkContext
from pyspark.sql import SparkSession

from examples.captures import named
from strandline import engine

_TABLES = ("customers", "promotions")


def main() -> int:
    """Two runs over tables that have every kind of change; how the JVM ended."""
    records = named("mariadb_inventory").records()
    chosen = [r for r in records if "." not in r.at.topic or r.at.topic.endswith(_TABLES)]
    list(engine.named("spark")(chosen, batches=2, source=None).rows)
    SparkSession.active().stop()
    jvm = SparkContext._gateway.proc  # noqa: SLF001 - nothing else tells when it has ended
    jvm.stdin.close()
    return int(jvm.wait())


if __name__ == "__main__":
    sys.exit(main())
