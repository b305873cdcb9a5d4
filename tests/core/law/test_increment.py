"""Keys that go on from their last versions, and those that are derived from their records."""

import pytest
from samples.events import Stream, told
from workloads.record import came_to, recorded

from strandline.law import in_runs


def after(*runs):
    """The table after these runs."""
    (table,) = recorded(runs).values()
    return table


def agrees(table, *runs):
    (law,) = in_runs(runs).tables
    return came_to(table) == came_to(law)


def of_rows(*numbers):
    """A stream that creates these rows."""
    s = Stream()
    for at, number in enumerate(numbers, 1):
        s.change("c", number, at, name="a")
    return s


def rest(s, start):
    return s.records[:start], s.records[start:]


def test_a_key_goes_on_from_its_last_version_and_a_new_one_from_nothing():
    s = of_rows(1)
    s.change("u", 1, 10, name="b")
    s.change("d", 1, 11)
    s.tombstone(1)
    s.change("c", 2, 12, name="a")
    table = after(*rest(s, 1))
    assert told(table.versions) == ["1: a|update", "1: b|delete", "2: a"]
    assert table.went_on == 2
    assert agrees(table, *rest(s, 1))


@pytest.mark.parametrize("asked", ["every", "of", "named"])
def test_no_record_of_a_key_that_goes_on_is_asked_for(monkeypatch, asked):
    s = of_rows(1)
    table = after(s.records)
    monkeypatch.setattr(table.__class__, asked, lambda *names: pytest.fail(f"asked for {names}"))
    s.change("u", 1, 20, name="b")
    table.run(s.records[1:], table.announced)
    assert told(table.versions) == ["1: a|update", "1: b"]


def test_a_key_whose_change_comes_late_is_derived_and_the_others_go_on():
    s = of_rows(1, 2)
    s.change("u", 1, 30, name="c")
    s.change("u", 1, 20, name="b")
    s.change("u", 2, 31, name="b")
    runs = s.records[:3], s.records[3:]
    table = after(*runs)
    assert told(table.versions) == ["1: a|update", "1: b|update", "1: c", "2: a|update", "2: b"]
    assert table.went_on == 1
    assert agrees(table, *runs)


def test_the_next_run_goes_on_from_a_plain_key_that_was_derived():
    s = of_rows(1)
    s.truncate(10)
    s.change("c", 1, 20, name="b")
    s.change("u", 1, 30, name="c")
    runs = s.records[:1], s.records[1:3], s.records[3:]
    table = after(*runs)
    assert table.went_on == 1
    assert agrees(table, *runs)


def test_a_key_that_another_one_moved_to_is_derived():
    s = of_rows(1)
    s.change("d", 1, 10, newkey=2)
    s.change("c", 2, 10, name="a", oldkey=1)
    s.change("u", 2, 20, name="b")
    runs = s.records[:3], s.records[3:]
    table = after(*runs)
    assert told(table.versions) == ["1: a|key_move", "2: a|update", "2: b"]
    assert table.went_on == 0
    assert agrees(table, *runs)


def test_a_key_that_is_known_without_a_version_is_derived():
    """Its row was deleted before anybody saw it, and the older one must not rise."""
    s = Stream()
    s.change("d", 1, 20)
    s.change("c", 2, 21, name="a")
    s.change("c", 1, 10, name="a")
    runs = s.records[:2], s.records[2:]
    table = after(*runs)
    assert table.went_on == 0
    assert agrees(table, *runs)


def test_a_truncate_ends_the_rows_of_all_keys():
    s = of_rows(1, 2)
    s.truncate(10)
    s.change("c", 2, 20, name="b")
    table = after(*rest(s, 2))
    assert told(table.versions) == ["1: a|truncate", "2: a|truncate", "2: b"]
    assert agrees(table, *rest(s, 2))


def test_a_record_that_cannot_be_read_leaves_its_key_to_be_derived():
    s = of_rows(1, 2)
    s.add(s.key(1), b"no JSON")
    s.change("u", 1, 10, name="b")
    s.change("u", 2, 11, name="b")
    table = after(*rest(s, 2))
    assert table.counts.quarantined == 1
    assert table.went_on == 1
    assert agrees(table, *rest(s, 2))


def test_a_column_that_comes_has_every_key_looked_at():
    s = of_rows(1, 2)
    s.columns = [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": True, "field": "name"},
        {"type": "string", "optional": True, "field": "bio"},
        {"type": "int64", "optional": True, "field": "weight"},
    ]
    s.change("u", 1, 10, name="b", more={"weight": 7})
    table = after(*rest(s, 2))
    assert table.went_on == 0
    assert agrees(table, *rest(s, 2))
