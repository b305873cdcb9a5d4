"""What JSON with embedded schemas tells, Avro tells too: one history, whichever was written."""

from pathlib import Path

import pytest
from cases.language import cases, repeated
from cases.sample import sampled
from samples.avro import Registry, is_described
from workloads import Choices
from workloads.record import came_to, recorded
from workloads.shards import came_to as came_to_in_shards
from workloads.shards import sharded

from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.law import in_runs
from strandline.sources import source

CASES = [case for case in cases() if is_described(case)]
REPEATABLE = [case for case in CASES if case.replay]


_EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.prefix)


def rules(case):
    path = Path(f"{case.prefix}.toml")
    return source.parse(case.spec, path, {source.LAKE_VARIABLE: "unused"}).rules


def told(case, registry, *runs):
    """All that runs come to: what a case expects, and what is counted and refused."""
    moment = recorded_at(case.records)
    found = in_runs(runs, CONNECTORS[case.connector], moment, rules(case), schemas=registry.schemas)
    rows = [(table.topic, version.cells()) for table in found.tables for version in table.versions]
    refused = [(q.reason, q.key, q.at) for q in found.quarantined]
    orphans = {table.topic: table.orphaned_moves for table in found.tables}
    doubts = [(table.error, table.regress) for table in found.tables]
    return rows, found.counts, refused, orphans, doubts


@_EACH
def test_a_case_in_avro_has_the_history_that_it_has_in_json(case):
    registry = Registry()
    records = registry.records(case.records)
    assert told(case, registry, records) == told(case, Registry(), case.records)


@_EACH
def test_a_case_whose_records_turn_from_json_to_avro_and_back_has_one_history(case):
    registry = Registry()
    avro = registry.records(case.records)
    halves = [a if n % 2 else j for n, (a, j) in enumerate(zip(avro, case.records, strict=True))]
    middle = len(avro) // 2
    whole = told(case, Registry(), case.records)
    assert told(case, registry, halves) == whole
    turned = [[record] for record in (*case.records[:middle], *avro[middle:])]
    runs = [[record] for record in case.records]
    assert told(case, registry, *turned) == told(case, Registry(), *runs)


@pytest.mark.parametrize("case", sampled(REPEATABLE))
def test_a_case_that_is_delivered_again_in_the_other_format_says_nothing_new(case):
    registry, new = Registry(), len(case.records)
    for start in {0, new // 2}:
        json = repeated(case, start)
        avro = registry.records(json)
        whole = told(case, Registry(), json)
        assert told(case, registry, [*json[:new], *avro[new:]]) == whole
        assert told(case, registry, [*avro[:new], *json[new:]]) == whole


@pytest.mark.parametrize("case", sampled(CASES))
def test_a_case_in_avro_goes_on_from_what_is_on_record(case):
    registry, connector = Registry(), CONNECTORS[case.connector]
    records, middle = registry.records(case.records), len(case.records) // 2
    runs = [records[:middle], records[middle:]]
    tables = recorded(runs, connector, rules(case), registry.schemas)
    law = in_runs([case.records], connector, rules=rules(case))
    for table in law.tables:
        assert came_to(tables[table.topic]) == came_to(table)


@pytest.mark.parametrize("case", sampled(CASES))
def test_a_case_in_avro_may_be_cut_into_shards(case):
    registry, connector = Registry(), CONNECTORS[case.connector]
    records, moment = registry.records(case.records), recorded_at(case.records)
    choices = Choices.seeded(len(records))
    tables = sharded(choices, [records], connector, moment, rules(case), registry.schemas)
    for table in in_runs([case.records], connector, moment, rules(case)).tables:
        assert came_to_in_shards(tables[table.topic]) == came_to_in_shards(table)


def test_nearly_all_that_cases_describe_can_be_said_in_avro():
    registry = Registry()
    records = [record for case in CASES for record in case.records]
    described = [r for r in records if (r.value or b"").startswith(b'{"schema"')]
    avro = [r for r in registry.records(described) if (r.value or b"")[:1] == b"\0"]
    assert len(avro) > 0.9 * len(described) > 1000
