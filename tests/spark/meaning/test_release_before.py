"""Lakes that the release before has made, in which Spark kept changes on record, are gone on with.

tests/fixtures/lakes has one for some sources: workloads of which all has landed, and the first runs
were made by commit 9603101, spread.
"""

import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from strandline_spark.engine import CaptureLake

from strandline.alone.engine import histories
from strandline.alone.stores import fencing
from strandline.alone.stores.landing import record
from strandline.alone.stores.tables import opened, rows
from strandline.cells import rendering
from strandline.connectors import CONNECTORS
from strandline.law import in_runs
from strandline.runs.lake import SourceLake
from strandline.runs.way import Way

_LAKES = sorted((Path(__file__).parents[2] / "fixtures" / "lakes").glob("*.tar.gz"))
_HERE = {"sqlserver.tar.gz"}  # the others in `make spark`
LAKES = [
    pytest.param(
        archive,
        id=archive.name.split(".")[0],
        marks=() if archive.name in _HERE else pytest.mark.heavy,
    )
    for archive in _LAKES
]


def unpacked(archive, folder):
    with tarfile.open(archive) as found:
        found.extractall(folder, filter="data")
    return SourceLake(folder.as_posix(), "shop")


def batches(lake):
    """What each commit of landing has brought, and how many of them are applied."""
    known, found = set(), []
    for version in range(opened(lake.landing).version() + 1):
        landed = map(record, rows(opened(lake.landing, version), "SELECT * FROM stored"))
        new = [each for each in landed if each.at not in known]
        known.update(each.at for each in new)
        found.append(new)
    tables = Path(lake.home, "tables").glob("*/history")
    return found, max(fencing.applied(opened(table.as_posix())) for table in tables)


@pytest.mark.parametrize("way", [Way.SPREAD, Way.ALONE])
@pytest.mark.parametrize("archive", LAKES)
def test_a_lake_of_the_release_before_is_gone_on_with(spark, tmp_path, archive, way):
    lake = unpacked(archive, tmp_path)
    landed, applied = batches(lake)
    source = archive.name.split(".")[0]
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    capture = CaptureLake(lake, CONNECTORS[source].names[0], moment, session=spark)
    capture.way = way
    capture.known.update(path.name for path in Path(lake.home, "tables").iterdir())
    receipts = []
    for number, batch in enumerate(landed[applied:], applied + 1):
        receipts.append(capture.compact(capture.manifest(number, batch)))
        assert [t.error for t in receipts[-1].tables] == [None] * len(receipts[-1].tables)
    law = in_runs(landed, CONNECTORS[source], moment)
    topics = {table.topic for receipt in receipts for table in receipt.tables if table.changed}
    assert {name for name, _ in histories(lake, receipts)} == topics
    meant = [told(t.topic, v.cells()) for t in law.tables if t.topic in topics for v in t.versions]
    assert [told(*row) for row in histories(lake, receipts)] == meant


def told(topic, cells):
    """A version, whatever the order of its columns, and whenever it was recorded."""
    return json.loads(rendering.line(topic, {**cells, "_recorded_at": None}))


def test_a_table_of_which_landing_has_lost_records_is_held(spark, tmp_path):
    lake = unpacked(_LAKES[0], tmp_path)
    landed, applied = batches(lake)
    source = _LAKES[0].name.split(".")[0]
    capture = CaptureLake(
        lake, CONNECTORS[source].names[0], datetime(2027, 1, 1, tzinfo=UTC), session=spark
    )
    capture.way = Way.SPREAD
    batch = landed[applied]
    opened(lake.landing).delete('"offset" < 2')
    receipt = capture.compact(capture.manifest(applied + 1, batch))
    assert any("landing no longer has" in (table.error or "") for table in receipt.tables)
