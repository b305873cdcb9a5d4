"""A lake of their own for tests of runs alone."""

import pytest
from samples.events import Stream

from strandline.alone.capture import CaptureLake
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake


@pytest.fixture
def capture(tmp_path):
    """A lake whose tables go alone."""
    moment = recorded_at([Stream().change("c", 1, 1)])
    return CaptureLake(SourceLake(tmp_path.as_posix(), "shop"), "postgresql", moment)
