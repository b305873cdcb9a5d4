"""Every case, of which each run goes on from what is on record and from no more."""

import json
from pathlib import Path

import pytest
from cases.language import cases
from cases.sample import sampled
from samples.events import COLUMNS, EPOCH_MS, Stream, told
from workloads.record import came_to, recorded

from strandline.connectors import CONNECTORS
from strandline.law import in_runs
from strandline.sources import source


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.prefix)
def test_a_case_of_which_each_run_goes_on_from_what_is_on_record(case):
    connector = CONNECTORS[case.connector]
    spec = source.parse(case.spec, Path(f"{case.prefix}.toml"), {"STRANDLINE_LAKE": "unused"})
    cuts = {0, 1, len(case.records) // 2, len(case.records) - 1}
    for cut in sorted(cuts):
        runs = [case.records[:cut], case.records[cut:]]
        tables = recorded(runs, connector, spec.rules)
        for table in in_runs(runs, connector, rules=spec.rules).tables:
            assert came_to(tables[table.topic]) == came_to(table), cut


@pytest.mark.parametrize("case", sampled(cases()))
def test_a_case_of_which_every_record_has_a_run_of_its_own(case):
    connector = CONNECTORS[case.connector]
    spec = source.parse(case.spec, Path(f"{case.prefix}.toml"), {"STRANDLINE_LAKE": "unused"})
    tables = recorded([[record] for record in case.records], connector, spec.rules)
    for table in in_runs([case.records], connector, rules=spec.rules).tables:
        assert came_to(tables[table.topic]) == came_to(table)


def test_a_tombstone_whose_key_is_read_otherwise_later_is_found_under_that_key_then():
    """Its key has no schema: what a date is, only the rows say."""
    column = {"type": "int32", "name": "io.debezium.time.Date", "optional": False, "field": "id"}
    s = Stream(columns=[column, *COLUMNS[1:]])
    s.add(b'{"id":18262}', None)
    s.add(b'{"id":18262}', s.change("c", 18262, 1).value)
    tombstone, _, created = s.records
    (table,) = recorded([[tombstone], [created]]).values()
    keys = {entry.key for _, entry in table.entries.values()}
    assert keys == {'{"id":"2020-01-01"}'}


def mysql(s, op, key, row, before=None, after=None, partition=0):
    """A change of a transaction that MySQL compressed: all of its rows stand at one position."""
    source = {
        "connector": "mysql", "name": "x", "snapshot": "false", "db": "shop", "table": "item",
        "file": "bin.000001", "pos": 20, "row": row, "ts_ms": EPOCH_MS,
    }  # fmt: skip
    value = {"before": before, "after": after, "op": op, "source": source, "ts_ms": EPOCH_MS}
    s.add(json.dumps({"id": key}).encode(), json.dumps(value).encode(), partition)


def test_a_position_that_turns_out_to_be_shared_makes_repetitions_of_other_keys_genuine():
    one, two = {"id": 1, "name": "a"}, {"id": 2, "name": "b"}
    s = Stream()
    mysql(s, "c", 1, 0, None, one)
    mysql(s, "d", 1, 1, one, None)
    mysql(s, "c", 1, 0, None, one)
    mysql(s, "c", 2, 0, None, two, partition=1)
    runs = [s.records[:3], s.records[3:]]
    (found,) = recorded(runs).values()
    (law,) = in_runs(runs).tables
    assert told(found.versions) == told(law.versions) == ["1: a|delete", "1: a", "2: b"]
    assert came_to(found) == came_to(law)
