"""Records that name a schema nobody knows yet: their table waits, or they are read once it is."""

import json
from dataclasses import replace

import pytest
from samples.avro import Registry, confluent
from samples.events import COLUMNS, EPOCH_MS
from stages.schema_stage import TOPIC, apply, changes, last, run, store, versions

from strandline.alone.stores import quarantine
from strandline.alone.stores.records import OnRecord
from strandline.changes.record import Coordinates, Record
from strandline.changes.rules import TableRules
from strandline.formats.registry.schemas import Schemas, StoredSchema

WHY = "registry http://registry:8081 does not have it"


@pytest.fixture
def lake(capture):
    """The lake of a source with a registry, whose tables wait for schemas."""
    capture.rules = lambda _: TableRules(hold_unknown=True)
    return capture


@pytest.fixture
def stream():
    return changes()


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def avro(stream, registry):
    """The records in Avro, and the schemas that they name."""
    return registry.records(stream.records), registry.schemas


def known(capture, found, *but):
    store(capture, found, *but, fault=WHY)


def test_a_table_waits_for_a_schema_and_says_who_did_not_give_which(lake, avro):
    records, found = avro
    known(lake, found, last(found))
    receipt = run(lake, 1, records)
    for part in (last(found), WHY, "hold = false", "the next landing asks for it again"):
        assert part in receipt.error
    assert not receipt.transient
    assert versions(lake) == []
    assert not list(quarantine.refused(lake.lake.quarantine, TOPIC, before=2))


def test_once_the_schema_is_stored_the_table_goes_on_as_if_it_had_never_waited(lake, avro):
    records, found = avro
    known(lake, found, last(found))
    assert run(lake, 1, records[:2]).error is None
    assert run(lake, 2, records[2:]).error is not None
    known(lake, found)
    receipt = apply(lake, 3, records[2:])
    assert (receipt.counts.landed, receipt.counts.changes) == (1, 1)
    assert versions(lake) == [(1, "a", False), (1, "c", True), (2, "b", True)]


def test_where_nobody_is_to_wait_the_record_is_in_quarantine_with_its_id(capture, avro):
    records, found = avro
    known(capture, found, last(found))
    receipt = run(capture, 1, records)
    assert (receipt.error, receipt.counts.quarantined) == (None, 1)
    ((record, reason),) = quarantine.refused(capture.lake.quarantine, TOPIC, before=2)
    assert (record.at.offset, record.value, reason) == (2, records[2].value, "unknown_schema")


def test_what_lay_in_quarantine_for_a_schema_is_read_by_the_run_after_it_is_stored(
    capture, avro, stream, registry
):
    records, found = avro
    known(capture, found, last(found))
    first = run(capture, 1, records)
    known(capture, found)
    stream.change("u", 2, 4, name="d")
    more = registry.records(stream.records[3:])
    second = run(capture, 2, more)
    counts = first.counts + second.counts
    assert (counts.landed, counts.changes, counts.quarantined) == (4, 4, 0)
    assert not list(quarantine.refused(capture.lake.quarantine, TOPIC, before=3))
    expected = [(1, "a", False), (1, "c", True), (2, "b", False), (2, "d", True)]
    assert versions(capture) == expected


@pytest.fixture
def others(stream):
    """A change of a row as before, under ids that no record had before; and their schemas."""
    registry = Registry(frames=lambda number: confluent(number + 10))
    stream.columns = COLUMNS
    stream.change("u", 2, 4, name="d")
    return registry.records(stream.records[3:]), registry.schemas


@pytest.mark.parametrize("waits", [True, False])
def test_a_schema_that_no_record_was_refused_for_has_nothing_read_anew(
    waits, capture, avro, others, monkeypatch
):
    records, found = avro
    known(capture, found)
    assert run(capture, 1, records[:2]).error is None
    known(capture, others[1])
    capture.rules = lambda _: TableRules(hold_unknown=waits)  # no rule that makes another history
    monkeypatch.delattr(OnRecord, "every")  # reading all that is on record would fail
    receipt = run(capture, 2, others[0])
    assert (receipt.error, receipt.counts.changes) == (None, 1)


def test_what_lies_in_quarantine_for_a_schema_is_no_reason_to_wait(capture, avro, others):
    records, found = avro
    known(capture, found, last(found))
    assert run(capture, 1, records).counts.quarantined == 1
    known(capture, others[1])
    capture.rules = lambda _: TableRules(hold_unknown=True)
    receipt = run(capture, 2, others[0])
    assert (receipt.error, receipt.counts.changes) == (None, 1)


def test_a_table_without_a_history_waits_for_a_notice_in_every_run(lake, avro):
    records, found = avro
    known(lake, found)
    notice = Record(Coordinates("shop.notifications", 0, 0), EPOCH_MS, None, b"\0\0\0\0\x63\x02x")
    lake.land([records[0], notice])
    planned = lake.manifest(1, [records[0], notice])
    own, others = (cut for cut in sorted(planned.tables, key=lambda cut: cut.topic != TOPIC))
    lake.compact(replace(planned, tables=(own,), control=others.ranges))
    assert "confluent:99" in apply(lake, 2, records[:1]).error
    assert versions(lake) == []


def test_tables_wait_for_a_notice_that_is_written_with_a_schema_nobody_knows(lake, avro):
    """It may say that a snapshot is complete, which ends rows."""
    records, found = avro
    known(lake, found)
    assert run(lake, 1, records[:1]).error is None
    place = Coordinates("shop.notifications", 0, 0)
    notice = Record(place, EPOCH_MS, None, b"\0\0\0\0\x63\x02x")
    lake.land([records[1], notice])
    planned = lake.manifest(2, [records[1], notice])
    own, others = (cut for cut in sorted(planned.tables, key=lambda cut: cut.topic != TOPIC))
    (receipt,) = lake.compact(replace(planned, tables=(own,), control=others.ranges)).tables
    assert "confluent:99" in receipt.error
    fields = [{"name": "aggregate_type", "type": "string"}]
    text = json.dumps({"type": "record", "name": "Notice", "fields": fields})
    known(lake, Schemas.of([StoredSchema("confluent:99", text)]))
    receipt = apply(lake, 3, records[1:2])
    assert (receipt.error, receipt.counts.changes) == (None, 1)
