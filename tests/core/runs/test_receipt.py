"""What the logs of a run say of each table."""

import logging

import pytest

from strandline.runs.manifest import Work
from strandline.runs.receipt import Counts, TableReceipt


def told(work, **fields):
    fields = {"counts": Counts(), "seconds": 12.34} | fields
    return TableReceipt("orders", "shop.orders", **fields).summary(work)


def test_a_compaction_is_told_by_its_counts_without_those_that_are_none():
    line = told(Work.COMPACT, counts=Counts(landed=1_234, changes=1_233, control=1, rows_written=9))
    assert line == "landed 1,234, changes 1,233, control 1, rows written 9; 12.3 s"


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


@pytest.mark.parametrize(("work", "what"), [(Work.COMPACT, "held"), (Work.ERASE, "not done")])
def test_a_table_that_failed_is_told_by_its_error(work, what):
    assert told(work, error="column x: text is no int") == f"{what}: column x: text is no int"


@pytest.mark.parametrize(("error", "level"), [(None, "INFO"), ("no int", "ERROR")])
def test_a_table_that_failed_is_an_error_of_the_log(caplog, error, level):
    receipt = TableReceipt("orders", "shop.orders", Counts(), error=error)
    with caplog.at_level(logging.INFO):
        receipt.tell(logging.getLogger("run"), Work.COMPACT)
    ((name, told_at, line),) = caplog.record_tuples
    assert (name, logging.getLevelName(told_at)) == ("run", level)
    assert line.startswith("orders: ")
