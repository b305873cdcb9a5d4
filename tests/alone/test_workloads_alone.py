"""Random workloads through real tables, alone, judged by the workload's own truth.

`STRANDLINE_FUZZ_EXAMPLES` sets how many of each source, `STRANDLINE_FUZZ_SEED` which.
"""

import os

import pytest
from workloads import SOURCES, pack_complaints

from strandline import engine

_COUNT = int(os.environ.get("STRANDLINE_FUZZ_EXAMPLES", "5"))
_SEED = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))


@pytest.mark.parametrize("batches", [1, 4])
@pytest.mark.parametrize("seed", [_SEED, pytest.param(_SEED + _COUNT, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("source", SOURCES)
def test_the_history_of_a_run_alone_is_what_the_workload_did(source, seed, batches):
    alone = engine.named("alone")
    wrong = pack_complaints(alone, source, count=_COUNT, seed=seed, batches=batches)
    assert not wrong, "\n".join(wrong)
