"""spark-submit entry point: works one manifest off and leaves its receipt beside it.

spark-submit … compact.py --manifest <URI of manifest.json>

Whatever submits it, the session has the engine's settings where nobody has given others.
"""

import argparse
import logging
import sys

from pyspark.sql import SparkSession
from strandline_spark import faults, session, work
from strandline_spark.files import read_text

from strandline.runs.manifest import Manifest


def main() -> int:
    """Exit 0 with a receipt, be it of failed tables; anything else is a crash of the whole run."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--manifest", required=True, help="URI of the manifest")
    uri = parser.parse_args().manifest
    spark = session.submitted()
    work_off(spark, uri)
    spark.stop()
    return 0


def work_off(spark: SparkSession, uri: str) -> None:
    """Works off the manifest at the URI and leaves its receipt beside it."""
    with faults.explained(uri):
        manifest = Manifest.from_json(read_text(spark, uri))
        work.work_off(spark, manifest, uri.rsplit("/", 1)[0] + "/receipt.json")


if __name__ == "__main__":
    sys.exit(main())
