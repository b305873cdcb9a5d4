"""A table may be cut into shards in any way that keeps names together: their history is one."""

from pathlib import Path

import pytest
from cases.arrivals import in_two_runs, with_half_of_it_again
from cases.language import cases
from cases.sample import sampled
from workloads import Choices
from workloads.runs import arrivals
from workloads.shards import came_to, sharded

from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.law import in_runs, interpret
from strandline.sources import source as sources


def test_readers_and_shards_make_the_history_of_one_process(source, seeds):
    for seed, runs in arrivals(source, seeds):
        tables = sharded(Choices.seeded(seed), runs, CONNECTORS[source])
        whole = interpret([r for run in runs for r in run], CONNECTORS[source])
        for table in whole.tables:
            assert came_to(tables[table.topic]) == came_to(table), seed


def as_written(case):
    return case.batches


def one_by_one(case):
    return [[record] for record in case.records] if case.parted and case.stops is None else []


@pytest.mark.parametrize("arrival", [as_written, in_two_runs, with_half_of_it_again, one_by_one])
@pytest.mark.parametrize("case", sampled(cases()))
def test_a_case_that_is_cut_into_shards_has_the_law_s_history(case, arrival):
    runs = arrival(case)
    connector = CONNECTORS[case.connector]
    environment = {sources.LAKE_VARIABLE: "unused"}
    rules = sources.parse(case.spec, Path(f"{case.prefix}.toml"), environment).rules
    moment = recorded_at(record for run in runs for record in run)
    tables = sharded(Choices.seeded(len(case.records)), runs, connector, moment, rules)
    for table in in_runs(runs, connector, moment, rules).tables:
        assert came_to(tables[table.topic]) == came_to(table)
