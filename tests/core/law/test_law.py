"""The rules of docs/semantics.md on the law, each as the smallest stream that shows it."""

import random
from dataclasses import replace

import pytest
from samples.events import Stream, told

from strandline.law import interpret
from strandline.runs import segment


@pytest.fixture
def stream():
    return Stream()


def history(stream):
    found = interpret(stream.records)
    assert found.counts.conserved
    assert found.counts.landed == len({record.at for record in stream.records})
    return [version for table in found.tables for version in table.versions]


def test_an_update_closes_the_version_before_it(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="B")
    first, second = history(stream)
    assert told([first, second]) == ["1: A|update", "1: B"]
    assert (first.seq_to, first.valid_to) == (second.seq_from, second.valid_from)


def test_a_delete_closes_and_its_tombstone_adds_nothing(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20)
    stream.tombstone(1)
    assert told(history(stream)) == ["1: A|delete"]
    assert interpret(stream.records).counts.control == 1


def test_a_lone_tombstone_on_a_live_key_is_a_delete(stream):
    stream.change("c", 1, 10, name="A")
    stream.tombstone(1)
    assert told(history(stream)) == ["1: A|tombstone"]


def test_a_tombstone_of_a_repeated_delete_does_not_end_the_row_after_it(stream):
    stream.change("c", 1, 4, name="A")
    again = [
        stream.change("d", 1, 5),
        stream.tombstone(1),
        stream.change("c", 1, 6, name="B"),
    ]
    stream.again(*again)
    assert told(history(stream)) == ["1: A|delete", "1: B"]


def test_a_delete_of_an_unknown_key_keeps_an_older_row_from_rising(stream):
    stream.change("d", 1, 20)
    stream.change("c", 1, 10, name="A")
    assert told(history(stream)) == ["1: A|delete"]


def test_an_update_without_a_create_opens(stream):
    stream.change("u", 1, 10, name="A")
    assert told(history(stream)) == ["1: A"]


def test_a_create_on_a_live_key_closes_and_opens(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("c", 1, 20, name="A")
    assert told(history(stream)) == ["1: A|update", "1: A"]


def test_equal_consecutive_values_make_one_version(stream):
    stream.change("c", 1, 10, name=None)
    stream.change("u", 1, 20, name=None)
    stream.change("u", 1, 30, name="A")
    assert told(history(stream)) == ["1: None|update", "1: A"]


def test_a_truncate_closes_older_rows_of_every_partition_even_those_that_land_later(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("c", 1, 30, name="B")
    stream.truncate(20, partition=1)
    stream.change("c", 2, 15, name="X", partition=2)
    stream.change("u", 2, 18, name="Y", partition=2)
    assert told(history(stream)) == ["1: A|truncate", "1: B", "2: X|update", "2: Y|truncate"]


def test_a_truncate_that_is_delivered_twice_in_two_partitions_is_one(stream):
    stream.change("c", 1, 10, name="A")
    stream.truncate(20, partition=1)
    stream.truncate(20, partition=2)
    stream.change("c", 1, 30, name="B")
    assert told(history(stream)) == ["1: A|truncate", "1: B"]
    assert interpret(stream.records).counts.duplicates == 1


def test_a_key_move_links_both_keys_and_keeps_the_entity(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20, newkey=2)
    stream.change("c", 2, 20, name="A", oldkey=1, partition=1)
    old, new = history(stream)
    assert told([old, new]) == ["1: A|key_move", "2: A"]
    assert (old.moved_to, new.moved_from) == ('{"id":2}', '{"id":1}')
    assert old.entity_id == new.entity_id


def test_a_move_there_and_back_keeps_the_entity_and_a_new_row_gets_its_own(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20, newkey=2)
    stream.change("c", 2, 20, name="A", oldkey=1)
    stream.change("d", 2, 30, newkey=1)
    stream.change("c", 1, 30, name="A", oldkey=2)
    stream.change("d", 1, 40)
    stream.change("c", 1, 50, name="N")
    *moved, new = sorted(history(stream), key=lambda version: version.seq_from)
    assert len({version.entity_id for version in moved}) == 1
    assert new.entity_id not in {version.entity_id for version in moved}


def test_a_moved_row_without_its_large_value_has_the_value_of_the_old_key(stream):
    stream.change("c", 1, 10, name="A", bio="long")
    stream.change("d", 1, 20, newkey=2)
    stream.change("c", 2, 20, name="A", bio="__debezium_unavailable_value", oldkey=1)
    assert [version.row["bio"] for version in history(stream)] == ["long", "long"]


def test_an_unchanged_large_value_keeps_its_last_value(stream):
    stream.change("c", 1, 10, name="A", bio="long")
    stream.change("u", 1, 20, name="B", bio="__debezium_unavailable_value")
    assert [version.row["bio"] for version in history(stream)] == ["long", "long"]


def test_a_large_value_that_was_never_sent_is_null_and_said_to_be_unavailable(stream):
    stream.change("u", 1, 10, name="A", bio="__debezium_unavailable_value")
    (version,) = history(stream)
    assert (version.row["bio"], version.unavailable) == (None, ("bio",))


def test_a_plain_create_inherits_nothing_from_a_dead_version_of_its_key(stream):
    stream.change("c", 1, 10, name="A", bio="long")
    stream.change("d", 1, 20)
    stream.change("c", 1, 30, name="B", bio="__debezium_unavailable_value")
    assert history(stream)[-1].unavailable == ("bio",)


def test_a_half_of_a_move_without_its_partner_is_counted(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20, newkey=2)
    assert interpret(stream.records).tables[0].orphaned_moves == 1


def test_a_read_of_an_equal_row_confirms_and_of_another_corrects(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("r", 1, 20, name="A")
    stream.change("r", 1, 30, name="B")
    assert told(history(stream)) == ["1: A|snapshot_correction", "1: B"]


def test_a_read_at_the_position_of_a_delete_does_not_resurrect(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("d", 1, 20)
    stream.change("r", 1, 20, name="A")
    assert told(history(stream)) == ["1: A|delete"]


def test_valid_from_never_runs_backwards_and_says_when_it_was_raised(stream):
    stream.records.clear()
    late = stream.source

    def clock(at, snapshot):
        return {**late(at, snapshot), "ts_us": late(100 - at, snapshot)["ts_us"]}

    stream.source = clock
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="B")
    first, second = history(stream)
    assert second.valid_from == first.valid_from
    assert (first.ts_quality, second.ts_quality) == ("commit", "clamped")


def test_an_absurd_time_is_flagged_and_not_believed(stream):
    stream.source = lambda at, snapshot: {**Stream.source(stream, at, snapshot), "ts_us": -5}
    stream.change("c", 1, 10, name="A")
    (version,) = history(stream)
    assert (version.ts_quality, version.valid_from.year) == ("kafka", 2026)
    assert version.source_ts.year == 1969


def test_a_new_column_is_null_before_and_a_dropped_one_after():
    before, after = Stream(), Stream()
    before.change("c", 1, 10, name="A", bio="b")
    after.skip(1)
    after.columns = [
        {"type": "int32", "field": "id"},
        {"type": "string", "field": "name"},
        {"type": "string", "field": "tier"},
    ]
    after.change("u", 1, 20, name="A", more={"tier": "gold"})
    rows = [v.row for v in interpret(before.records + after.records).tables[0].versions]
    assert [row["tier"] for row in rows] == [None, "gold"]
    assert [row["bio"] for row in rows] == ["b", None]


def test_any_interleaving_of_the_partitions_gives_one_history():
    stream = Stream()
    for at in range(10, 60, 10):
        stream.change("c" if at == 10 else "u", 1, at, name=f"v{at}")
        stream.change("c" if at == 10 else "u", 2, at + 1, name=f"w{at}", partition=1)
    stream.truncate(35, partition=2)
    expected = history(stream)
    by_partition = [
        [record for record in stream.records if record.at.partition == number]
        for number in range(3)
    ]
    chance = random.Random(1)  # noqa: S311 - a shuffle that repeats
    for _ in range(20):
        queues = [list(reversed(records)) for records in by_partition]
        stream.records = []
        while any(queues):
            stream.records.append(chance.choice([queue for queue in queues if queue]).pop())
        assert history(stream) == expected


def test_a_repeated_suffix_changes_nothing_wherever_it_begins(stream):
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="B")
    stream.change("d", 1, 30)
    stream.tombstone(1)
    stream.change("c", 1, 40, name="C")
    stream.change("u", 1, 50, name="D")
    expected = history(stream)
    for start in range(len(stream.records)):
        repeated = stream.copy()
        repeated.again(*stream.records[start:])
        assert history(repeated) == expected


def test_what_a_backfill_finds_at_an_offset_that_brokers_have_given_anew_is_a_change_of_its_own(
    stream,
):
    stream.change("c", 1, 10, name="A")
    stream.change("u", 1, 20, name="B")
    other = Stream()
    other.skip(1)
    anew = other.change("u", 1, 30, name="C")
    landed_again = replace(anew.at, topic_id=segment.again(anew.at.topic_id, "now"))
    stream.records.append(replace(anew, at=landed_again, timestamp=anew.timestamp + 5000))
    assert told(history(stream)) == ["1: A|update", "1: B|update", "1: C"]
