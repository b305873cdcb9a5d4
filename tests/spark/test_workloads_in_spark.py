"""The six laws on random workloads in Spark, each judged by the workload's own truth.

One workload of each log here, of each source in `make spark`; `STRANDLINE_FUZZ_EXAMPLES` sets how
many, `STRANDLINE_FUZZ_SEED` which. A complaint names its seed, as in `tests/properties`.
"""

import os

import pytest
from workloads import SOURCES, pack_complaints

from strandline import engine

_COUNT = int(os.environ.get("STRANDLINE_FUZZ_EXAMPLES", "1"))
_SEED = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))


# One whose keys go on from their last versions, one whose keys do not; others in `make spark`.
_HERE = {"mysql"}
_WANTED = [
    pytest.param(source, marks=() if source in _HERE else pytest.mark.heavy) for source in SOURCES
]


@pytest.mark.parametrize("source", _WANTED)
@pytest.mark.usefixtures("spark")
def test_the_history_in_spark_is_what_the_workload_did(source):
    spark = engine.named("spark")
    wrong = pack_complaints(spark, source, count=_COUNT, seed=_SEED, batches=2)
    assert not wrong, "\n".join(wrong)
