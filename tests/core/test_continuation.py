"""Every case, of which each run goes on from what is on record and from no more."""

from pathlib import Path

import pytest
from cases.language import cases
from events import COLUMNS, Stream
from workloads.record import counted, recorded

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
            found = tables[table.topic]
            assert found.error == table.error, cut
            if table.error is None:
                assert found.versions == list(table.versions), cut
                assert found.counted == counted(table.counts), cut
                assert found.orphaned_moves == table.orphaned_moves, cut


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.prefix)
def test_a_case_of_which_every_record_has_a_run_of_its_own(case):
    connector = CONNECTORS[case.connector]
    spec = source.parse(case.spec, Path(f"{case.prefix}.toml"), {"STRANDLINE_LAKE": "unused"})
    tables = recorded([[record] for record in case.records], connector, spec.rules)
    for table in in_runs([case.records], connector, rules=spec.rules).tables:
        found = tables[table.topic]
        assert found.error == table.error
        if table.error is None:
            assert found.versions == list(table.versions)
            assert found.counted == counted(table.counts)


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
