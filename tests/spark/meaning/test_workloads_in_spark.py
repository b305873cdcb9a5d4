"""The six laws on random workloads in Spark, each judged by the workload's own truth.

One workload of each source; `STRANDLINE_FUZZ_EXAMPLES` sets how many, `STRANDLINE_FUZZ_SEED`
which. A complaint names its seed, as in `tests/properties`.
"""

import os

import pytest
from strandline_spark.spread import groups, replacement
from workloads import SOURCES, pack_complaints

from strandline import engine

_COUNT = int(os.environ.get("STRANDLINE_FUZZ_EXAMPLES", "1"))
_SEED = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))


@pytest.mark.heavy
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.usefixtures("spark")
def test_the_history_in_spark_is_what_the_workload_did(source, monkeypatch):
    for module in (groups, replacement):  # keys are joined here; most other tests list their few
        monkeypatch.setattr(module, "LISTED", 0)
    spark = engine.named("spark")
    wrong = pack_complaints(spark, source, count=_COUNT, seed=_SEED, batches=2)
    assert not wrong, "\n".join(wrong)
