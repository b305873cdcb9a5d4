"""Corrections go the way of all changes: behind what a key has shown, before what is to come."""

from datetime import UTC, datetime

import pytest
from workloads import Choices, captured

from strandline.changes.change import Op
from strandline.changes.version import ClosedBy
from strandline.law import Stream, interpret
from strandline.law.corrections import correction, is_correction, read, written

AS_OF = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["postgresql", "mysql", "oracle"])
def stream(request):
    """A stream after one run, one of its tables, and that one's current versions by key."""
    for seed in range(100):
        stream = Stream()
        stream.run(captured(Choices.seeded(seed), request.param).records)
        for found in stream.found.values():
            current = {v.key: v for v in found.versions if v.seq_to is None}
            if current and any(of.spark == "string" for of in found.columns.values()):
                return stream, found, current
    raise AssertionError("no workload has a current version")


def corrected(stream, found, current, row):
    """The versions of a table after its first current key was corrected, by key."""
    key, version = next(iter(current.items()))
    change = correction(
        key, row, found.columns, behind=version.seq_from, scope=None, run=7, moment=AS_OF
    )
    stream.table(found.topic).correct([change])
    stream.run([])
    after = stream.found[found.topic]
    assert [v for v in after.versions if v.key != key] == [
        v for v in found.versions if v.key != key
    ]
    return version, [v for v in after.versions if v.key == key]


def test_a_row_that_the_snapshot_lacks_ends_as_absent(stream):
    version, after = corrected(*stream, row=None)
    assert after[-1].seq_from == version.seq_from
    assert after[-1].closed_by is ClosedBy.SNAPSHOT_ABSENT
    assert after[-1].valid_to == AS_OF


def test_a_row_says_what_the_snapshot_says_and_keeps_what_it_does_not_say(stream):
    _, found, current = stream
    was = next(iter(current.values()))
    name = next(n for n, of in found.columns.items() if of.spark == "string")
    version, after = corrected(*stream, row={name: "as it is at the source"})
    assert after[-2].closed_by is ClosedBy.SNAPSHOT_CORRECTION
    assert after[-1].op is Op.READ
    assert after[-1].valid_from == AS_OF
    assert after[-1].entity_id == version.entity_id
    assert after[-1].row == {**was.row, name: "as it is at the source"}
    assert after[-1].position == "reconciliation of run 7"


@pytest.mark.parametrize("lacks", [False, True])
def test_a_correction_that_was_put_on_record_is_read_as_it_was(stream, lacks):
    _, found, current = stream
    for key, version in current.items():
        row = None if lacks else dict(list(version.row.items())[:-1])
        change = correction(
            key,
            row,
            found.columns,
            behind=version.seq_from,
            scope="0000//shop",
            run=7,
            moment=AS_OF,
        )
        record = written(change, found.columns)
        assert is_correction(record.at)
        assert read(record) == change


def test_a_correction_outlives_another_reading_of_all_records(stream):
    of, found, _ = stream
    version, after = corrected(*stream, row=None)
    table = of.table(found.topic)
    table.waiting |= table.records.anew(table.records.decoder)
    of.run([])
    assert [v for v in of.found[found.topic].versions if v.key == version.key] == after


def test_what_was_known_of_a_correction_is_in_no_interpretation_of_the_records_alone(stream):
    of, found, _ = stream
    corrected(*stream, row=None)
    records = [
        table.plain.landed.record(n)
        for table in of.tables.values()
        for n in range(len(table.plain.landed))
    ]
    alone = {table.topic: table for table in interpret(records).tables}
    assert alone[found.topic].versions == found.versions
