"""A table that is spread over tasks waits for schemas as one that goes alone does."""

import pytest
from samples.avro import Registry
from stages.schema_stage import TOPIC, apply, changes, last, run, store, versions
from strandline_spark.engine import CaptureLake

from strandline.alone.stores import quarantine
from strandline.changes.rules import TableRules
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake

pytestmark = pytest.mark.heavy


@pytest.fixture
def stream():
    return changes()


@pytest.fixture
def registry(stream):
    registry = Registry()
    registry.avro_records = registry.records(stream.records)
    return registry


@pytest.fixture
def capture(tmp_path, spark, stream):
    moment = recorded_at(stream.records)
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", moment, session=spark)


def test_a_table_that_is_spread_waits_for_a_schema_and_goes_on(capture, registry):
    records, found = registry.avro_records, registry.schemas
    capture.rules = lambda _: TableRules(hold_unknown=True)
    store(capture, found, last(found))
    capture.land(records)
    assert apply(capture, 1, records[:2]).error is None
    receipt = apply(capture, 2, records[2:])
    assert f"no schema is known with the id {last(found)}: gone" in receipt.error
    assert not list(quarantine.refused(capture.lake.quarantine, TOPIC, before=3))
    store(capture, found)
    assert apply(capture, 3, records[2:]).error is None
    assert versions(capture) == [(1, "a", False), (1, "c", True), (2, "b", True)]


def test_what_lay_in_quarantine_is_read_where_the_table_is_spread(capture, registry, stream):
    records, found = registry.avro_records, registry.schemas
    store(capture, found, last(found))
    first = run(capture, 1, records)
    assert first.counts.quarantined == 1
    store(capture, found)
    stream.change("u", 2, 4, name="d", more={"town": None})
    more = registry.records(stream.records[3:])
    counts = first.counts + run(capture, 2, more).counts
    assert (counts.landed, counts.changes, counts.quarantined) == (4, 4, 0)
    assert not list(quarantine.refused(capture.lake.quarantine, TOPIC, before=3))
    expected = [(1, "a", False), (1, "c", True), (2, "b", False), (2, "d", True)]
    assert versions(capture) == expected
