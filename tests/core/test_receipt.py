"""What the logs of a run say of each table."""

import pytest

from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, TableReceipt


def told(work, **fields):
    fields = {"counts": Counts(), "seconds": 12.34} | fields
    return TableReceipt("orders", "shop.orders", **fields).summary(work)


def test_a_compaction_is_told_by_its_counts():
    line = told(Work.COMPACT, counts=Counts(landed=1_234, changes=1_233, control=1, rows_written=9))
    assert line == (
        "landed 1,234, changes 1,233, duplicates 0, control 1, quarantined 0, rows written 9, "
        "rows closed 0, history rows 0, current rows 0; 12.3 s"
    )


def test_an_order_is_told_by_what_it_did():
    did = {"landing": 2, "history": 1, "found afterwards": 0}
    assert told(Work.ERASE, did=did) == "landing 2, history 1, found afterwards 0; 12.3 s"


@pytest.mark.parametrize("did", [{}, {"files merged": 0, "files made": 0}])
def test_a_table_that_maintenance_had_nothing_to_do_on_says_so(did):
    assert told(Work.MAINTAIN, did=did) == "nothing to do; 12.3 s"
    assert told(Work.MAINTAIN, did={"files merged": 2}) == "files merged 2; 12.3 s"


@pytest.mark.parametrize(
    ("did", "line"), [({"equal": 20}, "equal 20; 12.3 s"), ({}, "done; 12.3 s")]
)
def test_the_versions_that_a_replay_notes_are_no_counts(did, line):
    noted = {"history": 3, "changes": 1, "deleted_keys": -1, "moves": -1, "quarantine": 0}
    assert told(Work.REPLAY, did={**did, **noted}) == line


def test_a_table_that_failed_is_told_by_its_error():
    assert told(Work.COMPACT, error="column x: text is no int") == "column x: text is no int"
