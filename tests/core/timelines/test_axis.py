"""The times below a timeline: every label can be told from the one before, whatever the span."""

import pytest

from strandline.timelines.axis import Label, labels


def shown(*ticks, every=1):
    return [(each.date, each.clock, each.fraction) for each in labels(ticks, every)]


def test_a_time_that_comes_again_on_another_day_has_that_day():
    ticks = "2026-11-20T09:00:00.000000Z", "2026-11-21T09:00:00.000000Z"
    assert shown(*ticks) == [("2026-11-20", "09:00:00", ""), ("2026-11-21", "09:00:00", "")]


def test_the_day_stands_where_it_changes_and_nowhere_else():
    ticks = [f"2026-11-{day}T{hour}:00:00.000000Z" for day, hour in ((20, 22), (20, 23), (21, 10))]
    assert shown(*ticks) == [
        ("2026-11-20", "22:00:00", ""), ("", "23:00:00", ""), ("2026-11-21", "10:00:00", "")
    ]  # fmt: skip


def test_a_day_that_changed_between_two_labels_stands_at_the_later_one():
    days = [f"2026-11-2{day}T09:00:00.000000Z" for day in range(5)]
    assert [label.date for label in labels(days, 2)] == ["2026-11-20", "2026-11-22", "2026-11-24"]
    assert [label.column for label in labels(days, 2)] == [0, 2, 4]


def test_within_a_second_only_the_fraction_is_new():
    ticks = [f"2026-11-20T09:00:00.00000{micro}Z" for micro in (1, 2)]
    assert shown(*ticks) == [("2026-11-20", "09:00:00", ".000001"), ("", "", ".000002")]


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_a_year_far_away_is_one_too(year):
    (label,) = labels([f"{year}-01-01T00:00:00.000000Z"], 3)
    assert label == Label(0, f"{year}-01-01", "00:00:00", "")
