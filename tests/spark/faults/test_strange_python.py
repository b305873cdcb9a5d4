"""What is told where the Python of Spark's tasks has not what Strandline needs."""

import re
import venv

import pytest
from samples.events import Stream
from strandline_spark.engine import CaptureLake

from strandline.alone.stores.tables import opened
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

REMEDY = (
    r"the Python of Spark's executors does not do for Strandline \(.+\): give them one that has"
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python without any package."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home)
    return home / "bin" / "python"


@pytest.fixture
def capture(spark, tmp_path):
    moment = recorded_at([Stream().change("c", 1, 1)])
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", moment, way=Way.SPREAD, session=spark)


def test_a_table_that_is_spread_is_held_with_what_to_do_and_goes_on_then(
    spark, capture, bare, monkeypatch
):
    records = [Stream().change("c", 1, 1, name="a")]
    capture.land(records)
    with monkeypatch.context() as strange:
        strange.setattr(spark.sparkContext, "pythonExec", str(bare))
        (table,) = capture.compact(capture.manifest(1, records)).tables
    assert re.match(REMEDY, table.error)
    assert not table.transient
    (table,) = capture.compact(capture.manifest(2, records)).tables
    assert (table.error, table.counts.changes) == (None, 1)
    assert opened(capture.lake.history(table.table)) is not None
