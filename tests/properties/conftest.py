"""What each property is tried with: every source, and as many workloads of it as are asked for.

`STRANDLINE_FUZZ_EXAMPLES` says how many (20), `STRANDLINE_FUZZ_SEED` which is the first.
"""

import os

import pytest
from workloads import SOURCES


@pytest.fixture(params=list(SOURCES))
def source(request):
    return request.param


@pytest.fixture
def seeds():
    first = int(os.environ.get("STRANDLINE_FUZZ_SEED", "0"))
    return range(first, first + int(os.environ.get("STRANDLINE_FUZZ_EXAMPLES", "20")))
