"""A table that is spread over tasks waits for schemas as one that goes alone does."""

import pytest
from avro import Registry
from events import COLUMNS, Stream
from strandline_spark.engine import CaptureLake

from strandline.alone.stores import quarantine, schemas
from strandline.alone.stores.tables import opened, rows
from strandline.changes.rules import TableRules
from strandline.engine import recorded_at
from strandline.runs.lake import SourceLake

pytestmark = pytest.mark.heavy

TOPIC = Stream().topic
COLUMN = {"type": "string", "optional": True, "field": "town"}


@pytest.fixture
def stream():
    """Three changes; the last has a column more, and so another schema of the value."""
    found = Stream()
    found.change("c", 1, 1, name="a")
    found.change("c", 2, 2, name="b")
    found.columns = [*COLUMNS, COLUMN]
    found.change("u", 1, 3, name="c", more={"town": "Ulm"})
    return found


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


def store(capture, found, *but):
    rest = found.without(but)
    table = schemas.arrow(rest.known.values(), dict.fromkeys(but, "gone"), capture.moment)
    schemas.append(capture.lake.schemas, table)


def apply(capture, number, records):
    capture.schemas = schemas.known(capture.lake.schemas)
    capture.moment = capture.moment.replace(hour=number)
    (receipt,) = capture.compact(capture.manifest(number, records)).tables
    return receipt


def versions(capture):
    table = opened(capture.lake.history(TOPIC))
    found = [] if table is None else rows(table, "SELECT * FROM stored ORDER BY _key, _seq_from")
    return [(row["id"], row["name"], row["_is_current"]) for row in found]


def test_a_table_that_is_spread_waits_for_a_schema_and_goes_on(capture, registry):
    records, found = registry.avro_records, registry.schemas
    last = list(found.known)[-1]
    capture.rules = lambda _: TableRules(hold_unknown=True)
    store(capture, found, last)
    capture.land(records)
    assert apply(capture, 1, records[:2]).error is None
    receipt = apply(capture, 2, records[2:])
    assert f"no schema is known with the id {last}: gone" in receipt.error
    assert not list(quarantine.refused(capture.lake.quarantine, TOPIC, before=3))
    store(capture, found)
    assert apply(capture, 3, records[2:]).error is None
    assert versions(capture) == [(1, "a", False), (1, "c", True), (2, "b", True)]


def test_what_lay_in_quarantine_is_read_where_the_table_is_spread(capture, registry, stream):
    records, found = registry.avro_records, registry.schemas
    store(capture, found, list(found.known)[-1])
    capture.land(records)
    first = apply(capture, 1, records)
    assert first.counts.quarantined == 1
    store(capture, found)
    stream.change("u", 2, 4, name="d", more={"town": None})
    more = registry.records(stream.records[3:])
    capture.land(more)
    counts = first.counts + apply(capture, 2, more).counts
    assert (counts.landed, counts.changes, counts.quarantined) == (4, 4, 0)
    assert not list(quarantine.refused(capture.lake.quarantine, TOPIC, before=3))
    expected = [(1, "a", False), (1, "c", True), (2, "b", False), (2, "d", True)]
    assert versions(capture) == expected
