from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from strandline.runs.segment import (
    Gap,
    Landed,
    Limits,
    Segment,
    Truncation,
    Watermarks,
    newcomers,
    plan,
)

LIMITS = Limits(groups=4, group_records=100, partition_records=1000)


def mark(log_start, end, partition=0, topic="t", topic_id="id"):
    return Watermarks(topic, topic_id, partition, log_start, end)


def landed(next_offset, partition=0, topic="t", topic_id="id", first_offset=0):
    return Landed(topic, topic_id, partition, first_offset, next_offset)


def segment(start, end, partition=0, topic="t", topic_id="id"):
    return Segment(topic, topic_id, partition, start, end)


def test_a_run_reads_from_the_landed_offset_to_the_end():
    planned = plan([mark(0, 50)], [landed(20)], LIMITS)
    assert planned.groups == ((segment(20, 50),),)
    assert planned.gaps == ()
    assert planned.carried_over == 0


def test_a_partition_without_news_is_left_out():
    assert plan([mark(0, 50)], [landed(50)], LIMITS).groups == ()


def test_an_empty_source_is_an_empty_plan():
    planned = plan([], [], LIMITS)
    assert (planned.groups, planned.gaps, planned.carried_over) == ((), (), 0)


def test_records_deleted_before_they_were_landed_are_a_gap():
    planned = plan([mark(30, 50)], [landed(20)], LIMITS)
    assert planned.gaps == (Gap("t", "id", 0, 20, 30),)
    assert planned.groups == ((segment(30, 50),),)


def test_a_gap_up_to_the_very_end_is_a_gap_without_a_segment():
    planned = plan([mark(50, 50)], [landed(20)], LIMITS)
    assert planned.gaps == (Gap("t", "id", 0, 20, 50),)
    assert planned.groups == ()


def test_deleting_what_is_landed_is_no_gap():
    assert plan([mark(20, 50)], [landed(20)], LIMITS).gaps == ()


def test_a_partition_that_ends_before_the_landed_offset_is_told_and_holds_no_other():
    planned = plan([mark(0, 10), mark(0, 10, 1)], [landed(20), landed(5, 1)], LIMITS)
    assert planned.groups == ((segment(5, 10, 1),),)
    assert (planned.gaps, planned.carried_over) == ((), 0)
    assert planned.truncations == (Truncation("t", "id", 0, 10, 20),)
    (truncation,) = planned.truncations
    assert str(truncation) == "t[0] ends at offset 10, but everything before 20 is landed"


def test_a_partition_that_ends_where_it_is_landed_to_is_not_truncated():
    assert plan([mark(0, 20)], [landed(20)], LIMITS).truncations == ()


def test_one_partition_advances_by_a_bounded_number_of_records_and_the_rest_is_carried_over():
    planned = plan([mark(0, 2500)], [landed(0)], LIMITS)
    assert planned.groups == ((segment(0, 1000),),)
    assert planned.carried_over == 1500


def test_small_segments_share_a_task():
    marks = [mark(0, 10, partition) for partition in range(8)]
    planned = plan(marks, [landed(0, partition) for partition in range(8)], LIMITS)
    assert [len(group) for group in planned.groups] == [8]


def test_large_segments_have_tasks_of_about_equal_size():
    sizes = (900, 500, 400, 100, 50, 50)
    marks = [mark(0, size, partition) for partition, size in enumerate(sizes)]
    planned = plan(
        marks, [landed(0, partition) for partition in range(6)], replace(LIMITS, groups=2)
    )
    assert [sum(one.end for one in group) for group in planned.groups] == [1000, 1000]


def test_a_topic_new_to_the_source_starts_at_what_the_broker_still_has():
    assert newcomers([mark(30, 50)], []) == (landed(30, first_offset=30),)


def test_a_partition_added_to_a_known_topic_starts_at_zero():
    assert newcomers([mark(0, 50), mark(5, 9, 1)], [landed(50)]) == (landed(0, 1),)


def test_a_topic_created_again_starts_at_zero_under_its_new_id():
    again = mark(0, 7, topic_id="id2")
    assert newcomers([again], [landed(50)]) == (landed(0, topic_id="id2"),)


def test_a_known_partition_is_no_newcomer():
    assert newcomers([mark(0, 50)], [landed(20)]) == ()


@st.composite
def states(draw):
    """Watermarks of some partitions and how far each is landed, at or behind its end."""
    marks, known = [], []
    for partition in range(draw(st.integers(0, 30))):
        log_start = draw(st.integers(0, 3000))
        end = log_start + draw(st.integers(0, 3000))
        marks.append(mark(log_start, end, partition))
        known.append(landed(draw(st.integers(0, end)), partition))
    return marks, known


@given(states(), st.integers(1, 10))
def test_every_offset_is_planned_once_lost_or_carried_over(state, groups):
    marks, known = state
    planned = plan(marks, known, replace(LIMITS, groups=groups))
    segments = [one for group in planned.groups for one in group]
    covered = sum(one.end - one.start for one in (*segments, *planned.gaps))
    missing = sum(one.end - before.next_offset for one, before in zip(marks, known, strict=True))
    assert covered + planned.carried_over == missing


@given(states(), st.integers(1, 10))
def test_no_partition_is_split_over_two_tasks_and_no_task_is_empty(state, groups):
    planned = plan(*state, replace(LIMITS, groups=groups))
    partitions = [one.partition for group in planned.groups for one in group]
    assert len(partitions) == len(set(partitions))
    assert len(planned.groups) <= groups
    assert all(planned.groups)
