"""What docs/deploy/lake.md says of Spark's commits on S3: where that has changed, mend the page."""

import os
import subprocess
import sys

import pytest
import s3_stage

pytestmark = pytest.mark.heavy

# Delta's log store for S3 looks whether a commit is there, makes the file so, and closes it.
RACE = """
import sys
from strandline_spark.session import local
settings = dict(each.split("=", 1) for each in sys.argv[2:])
spark = local("race", **{name.replace(".", "__"): value for name, value in settings.items()})
path = spark._jvm.org.apache.hadoop.fs.Path(sys.argv[1])
system = path.getFileSystem(spark._jsc.hadoopConfiguration())
first, second = system.create(path, False), system.create(path, False)
first.write(b"first")
second.write(b"second")
first.close()
second.close()
spark.stop()
"""


def test_of_two_drivers_that_make_a_commit_at_once_the_second_overwrites_it_on_s3(store):
    from strandline.runs import jars  # noqa: PLC0415 - as the operator finds them

    own = s3_stage.of_spark(store.endpoint) | {
        "spark.master": "local[1]",
        "spark.driver.memory": "1g",
        "spark.hadoop.fs.s3a.create.conditional.enabled": "true",
    }
    own["spark.driver.extraClassPath"] += "".join(f":{jar}" for jar in jars.at_hand(os.environ))
    words = [f"{name}={value}" for name, value in own.items()]
    commit = "race/_delta_log/00000000000000000001.json"
    subprocess.run(
        [sys.executable, "-c", RACE, f"s3a://{store.bucket}/{commit}", *words],
        env={**os.environ, **store.environment},
        check=True,
    )
    assert (store.folder / store.bucket / commit).read_bytes() == b"second"
