"""Runs that take only the groups that they touch from what is on record make the same history."""

from workloads.record import came_to, recorded
from workloads.runs import arrivals

from strandline.law import interpret


def test_what_is_on_record_is_enough_to_make_the_history_of_one_run(source, seeds):
    for seed, runs in arrivals(source, seeds):
        tables = recorded(runs)
        for table in interpret([record for run in runs for record in run]).tables:
            assert came_to(tables[table.topic]) == came_to(table), seed
