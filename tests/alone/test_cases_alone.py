"""Cases through real tables, alone: landed, and compacted in the runs that the case allows."""

from pathlib import Path

import pytest
from cases.arrivals import in_one_run, in_two_runs, with_half_of_it_again
from cases.language import cases
from cases.sample import sampled
from samples.avro import Registry, is_described

from strandline.alone.capture import CaptureLake
from strandline.alone.engine import histories
from strandline.cells import rendering
from strandline.connectors import CONNECTORS
from strandline.engine import recorded_at
from strandline.formats.registry.schemas import NONE
from strandline.law import in_runs, total
from strandline.runs.lake import SourceLake
from strandline.sources import source

_FEW = 4


def one_by_one(case):
    """A run for each record, of the shorter cases: a few real runs take as long as the rest."""
    short = case.parted and case.stops is None and len(case.records) <= _FEW
    return [[record] for record in case.records] if short else []


_TWO = pytest.param(in_two_runs, marks=pytest.mark.heavy)  # as with half of it again, and no more


@pytest.mark.parametrize("arrival", [in_one_run, _TWO, with_half_of_it_again, one_by_one])
@pytest.mark.parametrize("case", sampled(cases()))
def test_a_case_through_real_tables_has_the_law_s_history(tmp_path, case, arrival):
    has_the_law_s_history(tmp_path, case, arrival(case))


@pytest.mark.parametrize("case", sampled(filter(is_described, cases())))
def test_a_case_in_avro_through_real_tables_has_the_history_that_it_has_in_json(tmp_path, case):
    registry, runs = Registry(), in_two_runs(case)
    avro = [registry.records(run) for run in runs]
    has_the_law_s_history(tmp_path, case, runs, avro, registry.schemas)


def has_the_law_s_history(tmp_path, case, runs, landed=None, schemas=NONE):
    """`landed` are the runs as they are landed, where that is in another format."""
    spec = source.parse(case.spec, Path(f"{case.prefix}.toml"), {"STRANDLINE_LAKE": "unused"})
    moment = recorded_at(record for run in runs for record in run)
    lake = CaptureLake(
        SourceLake(tmp_path.as_posix(), "cases"),
        CONNECTORS[case.connector].names[0],
        moment,
        spec.rules,
        schemas,
    )
    receipts = list(lake.runs(runs if landed is None else landed))
    law = in_runs(runs, CONNECTORS[case.connector], moment, spec.rules)
    rows = list(histories(lake.lake, receipts))
    meant = [(t.topic, v.cells()) for t in law.tables for v in t.versions]
    assert [rendering.line(*row) for row in rows] == [rendering.line(*row) for row in meant]
    for table in law.tables:
        own = [t for r in receipts for t in r.tables if t.topic == table.topic]
        assert own[-1].error == table.error
        if table.error is None and table.topic == own[-1].topic:
            found = total(each.counts for each in own)
            assert found.changes == table.counts.changes
            assert found.duplicates == table.counts.duplicates
            assert own[-1].counts.history_rows == len(table.versions)
            assert own[-1].orphaned_moves == table.orphaned_moves
