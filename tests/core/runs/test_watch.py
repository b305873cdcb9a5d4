"""What is told of a source: one alert when something starts, one when it ends, and no storm."""

from datetime import UTC, datetime, timedelta

import pytest

from strandline.runs.manifest import Work
from strandline.runs.segment import Gap
from strandline.runs.standing import Ended, Loss, Run, SourceStanding, TableStanding
from strandline.runs.watch import Kind, State, look
from strandline.sources.table import Tolerance

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def table(name="orders", **fields):
    return TableStanding(name, f"shop.{name}", Tolerance(HOUR), **{"unlanded": 0, **fields})


def source(*tables, run_at=None, **fields):
    runs = (run(7, run_at),) if run_at else ()
    return SourceStanding("shop", Tolerance(HOUR), tables, **{"runs": runs, **fields})


def run(number, planned_at, work=Work.COMPACT):
    return Run(number, work, planned_at, 5, 5, 0, 1.5, 0)


def told(*looks):
    """What each look in its turn tells: ids of conditions, with a minus where they ended."""
    state, found = State(), []
    for minutes, standing in looks:
        alerts, state = look(state, standing, NOON + minutes * MINUTE)
        state = State.from_json(state.to_json())  # as it is kept between two looks
        found.append([("-" if alert.ended else "") + alert.condition.id for alert in alerts])
    return found


def test_a_source_in_order_tells_nothing():
    assert told((0, source(table()))) == [[]]


def test_an_old_history_without_newer_data_is_in_order():
    old = table(began_at=NOON - 1_000 * HOUR)
    assert told((0, source(old, run_at=NOON - 1_000 * HOUR))) == [[]]


def test_what_waits_within_its_time_is_in_order():
    assert told((0, source(table(landed=5, since=NOON - 59 * MINUTE)))) == [[]]


def test_an_alert_is_told_once_when_it_starts_and_once_when_it_ends():
    late = source(table(landed=5, since=NOON - 61 * MINUTE), run_at=NOON)
    assert told((0, late), (5, late), (10, source(table())), (15, source(table()))) == [
        ["stale/orders"], [], ["-stale/orders"], []
    ]  # fmt: skip


def test_where_no_run_has_come_since_one_alert_stands_for_all_tables():
    late = [table(f"t{n}", landed=5, since=NOON - n * HOUR) for n in range(2, 9)]
    (alert,), _ = look(State(), source(*late, run_at=NOON - 9 * HOUR), NOON)
    assert alert.condition.kind is Kind.COMPACTION
    assert alert.condition.since == NOON - 8 * HOUR
    assert "t2, t3, t4 and 4 more" in alert.text
    assert "8h behind" in alert.text
    assert "compact__shop has published nothing since (its last: run 7)" in alert.text


def test_an_order_is_no_sign_that_compaction_goes_on():
    late = table(landed=5, since=NOON - 2 * HOUR)
    runs = run(8, NOON - HOUR, Work.MAINTAIN), run(7, NOON - 3 * HOUR)
    (alert,), _ = look(State(), source(late, runs=runs), NOON)
    assert alert.condition.kind is Kind.COMPACTION
    assert "(its last: run 7)" in alert.text


def test_a_source_of_which_nothing_ever_ran_is_told():
    never = source(table(unlanded=9), landed_at=None)
    assert told((0, never), (61, never)) == [[], ["landing/"]]


def test_landing_that_moves_on_is_no_standstill_however_far_behind():
    looks = [(n * 30, source(table(unlanded=9, landed_to=n))) for n in range(6)]
    assert told(*looks) == [[]] * 6


def test_landing_that_stands_still_is_told_until_it_has_caught_up_or_moves():
    still = source(table(unlanded=9, landed_to=4), landed_at=NOON)
    moved = source(table(unlanded=3, landed_to=10))
    assert told((0, still), (61, still), (66, still), (70, moved)) == [
        [], ["landing/"], [], ["-landing/"]
    ]  # fmt: skip


def test_a_table_that_is_held_is_told_with_its_error_and_not_as_behind_too():
    held = table(held="column x: no int", held_since=NOON, landed=5, since=NOON - 9 * HOUR)
    (alert,), _ = look(State(), source(held, run_at=NOON), NOON)
    assert alert.condition.kind is Kind.HELD
    assert alert.title == "shop: orders: held"
    assert alert.text == "since 2026-11-20 12:00 UTC, 9h behind: column x: no int"


def test_a_gap_is_told_until_it_is_healed():
    lost = table(losses=(Loss(Gap("shop.orders", "id", 0, 3, 6), NOON),))
    assert told((0, source(lost)), (5, source(lost)), (9, source(table()))) == [
        ["gap/orders"], [], ["-gap/orders"]
    ]  # fmt: skip


def test_quarantine_is_told_above_its_threshold_with_the_most_frequent_reasons():
    borne = table(quarantined={"not_json": 2})
    few = TableStanding("orders", "shop.orders", Tolerance(HOUR, 2), quarantined=borne.quarantined)
    assert told((0, source(few))) == [[]]
    many = table(quarantined={"no_key": 1, "not_json": 2_000, "wrong_type": 3, "late": 2})
    (alert,), _ = look(State(), source(many), NOON)
    assert (
        "read: 2,006 (2,000 not_json, 3 wrong_type, 2 late); the source file allows 0" in alert.text
    )


def test_a_move_without_its_other_half_is_told_once_it_has_waited_for_too_long():
    half = source(table(orphans=1, orphans_since=NOON))
    assert told((5, half), (61, half), (65, source(table()))) == [
        [], ["orphans/orders"], ["-orphans/orders"]
    ]  # fmt: skip


def test_kafka_is_told_when_it_was_silent_for_as_long_as_a_change_may_wait():
    silent = source(table(unlanded=None), silent="Kafka does not answer: timed out")
    looks = [(0, silent), (60, silent), (61, silent), (62, source(table()))]
    assert told(*looks) == [[], [], ["kafka/"], ["-kafka/"]]


def test_while_kafka_is_silent_nobody_says_that_landing_moves_again():
    still = source(table(unlanded=9), landed_at=NOON)
    silent = source(table(unlanded=None), silent="no answer")
    assert told((0, still), (61, still), (66, silent), (70, still), (75, source(table()))) == [
        [], ["landing/"], [], [], ["-landing/"]
    ]  # fmt: skip


def ended(failed, succeeded, dag="land"):
    """How many runs have failed and succeeded."""
    return source(table(), ended={dag: Ended(failed, succeeded)})


def test_runs_that_fail_are_told_once_until_one_succeeds():
    looks = [(0, ended(0, 9)), (5, ended(1, 9)), (10, ended(2, 9)), (15, ended(2, 10))]
    assert told(*looks, (20, ended(2, 11)), (25, ended(3, 11))) == [
        [], ["land_fails/"], [], ["-land_fails/"], [], ["land_fails/"]
    ]  # fmt: skip


def test_landing_and_compaction_fail_each_for_itself():
    both = {"land": Ended(1, 0), "compact": Ended(1, 0)}
    alerts, _ = look(State(), source(table(), ended=both), NOON)
    assert [alert.title for alert in alerts] == ["shop: landing fails", "shop: compaction fails"]
    assert "a run of compact__shop has failed" in alerts[1].text


def test_what_failed_before_the_first_look_is_told_where_nothing_ever_succeeded():
    assert told((0, ended(3, 0))) == [["land_fails/"]]
    assert told((0, ended(3, 1))) == [[]]


def test_a_run_that_failed_between_two_looks_is_told_although_another_succeeded():
    assert told((0, ended(0, 9)), (5, ended(1, 10)), (10, ended(1, 11))) == [
        [], ["land_fails/"], ["-land_fails/"]
    ]  # fmt: skip


def test_a_failed_run_that_is_cleared_is_over_once_it_has_succeeded():
    looks = [(0, ended(0, 9)), (5, ended(1, 9)), (10, ended(0, 9)), (15, ended(0, 10))]
    assert told(*looks) == [[], ["land_fails/"], [], ["-land_fails/"]]


def test_a_failed_run_that_is_cleared_and_fails_again_is_not_told_again():
    looks = [(0, ended(0, 9)), (5, ended(1, 9)), (10, ended(0, 9)), (15, ended(1, 9))]
    assert told(*looks) == [[], ["land_fails/"], [], []]


def test_that_airflow_forgets_old_runs_is_no_success():
    looks = [(0, ended(4, 900)), (5, ended(5, 900)), (10, ended(1, 90)), (15, ended(1, 91))]
    assert told(*looks) == [[], ["land_fails/"], [], ["-land_fails/"]]


def test_runs_that_succeed_leave_the_state_as_it_was():
    _, first = look(State(), ended(3, 9), NOON)
    _, second = look(first, ended(3, 10), NOON + MINUTE)
    assert second.same(first)


def test_a_look_at_an_earlier_instant_is_none():
    late = source(table(landed=5, since=NOON - 61 * MINUTE), run_at=NOON)
    assert told((5, late), (0, source(table())), (6, late)) == [["stale/orders"], [], []]


def test_looking_again_at_the_same_instant_tells_nothing_twice():
    late = source(table(landed=5, since=NOON - 61 * MINUTE), run_at=NOON)
    assert told((5, late), (5, late)) == [["stale/orders"], []]


@pytest.mark.parametrize("standing", [source(table()), source(table(held="no"))])
def test_the_same_standing_leaves_the_same_state(standing):
    _, first = look(State(), standing, NOON)
    _, second = look(first, standing, NOON + MINUTE)
    assert second.same(first)


def test_what_ended_is_told_with_the_time_at_which_it_began():
    held = table(held="no", held_since=NOON)
    _, state = look(State(), source(held), NOON)
    (alert,), _ = look(state, source(table()), NOON + HOUR)
    assert alert.title == "shop: orders: over: held"
    assert alert.text == "as it had been since 2026-11-20 12:00 UTC"
