import pytest

from strandline.errors import SpecError
from strandline.runs.backfill import Wanted, segments
from strandline.runs.segment import Segment, Watermarks, incarnation, is_again

MARKS = (Watermarks("shop.t", "id", 0, 10, 90), Watermarks("shop.t", "id", 1, 0, 30))


ALL = Wanted()


def ranges(wanted=ALL, since=None, until=None):
    found = segments(wanted, MARKS, (since or {}, until or {}), "now")
    return [(each.partition, each.start, each.end) for each in found]


def test_without_a_restriction_everything_that_is_there_is_landed_again():
    assert ranges() == [(0, 10, 90), (1, 0, 30)]


def test_offsets_restrict_and_what_is_gone_is_left_out():
    assert ranges(Wanted(partition=0, start=5, end=20)) == [(0, 10, 20)]
    assert ranges(Wanted(start=40)) == [(0, 40, 90)]


def test_times_restrict_by_the_offsets_that_they_come_to():
    since = {("shop.t", 0): 50, ("shop.t", 1): 30}
    until = {("shop.t", 0): 60, ("shop.t", 1): 30}
    assert ranges(since=since) == [(0, 50, 90)]
    assert ranges(since=since, until=until) == [(0, 50, 60)]


def test_what_is_landed_again_is_an_incarnation_of_its_own():
    (first, _) = segments(Wanted(), MARKS, ({}, {}), "now")
    assert first == Segment("shop.t", "id~now", 0, 10, 90)
    assert is_again(first.topic_id)
    assert incarnation(first.topic_id) == "id"


def test_inverted_offsets_and_offsets_that_are_not_there_say_what_to_write():
    with pytest.raises(SpecError, match="swap them"):
        Wanted(start=7, end=7)
    with pytest.raises(SpecError, match=r"it has shop\.t\[0\] 10\.\.90, shop\.t\[1\] 0\.\.30"):
        ranges(Wanted(start=900))
