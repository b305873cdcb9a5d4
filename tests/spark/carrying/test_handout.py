"""The tables of a run that go alone: handed out by Spark, whichever of them fail or are large."""

import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest
from deltalake.table import TableMerger
from pyspark import cloudpickle
from samples.events import COLUMNS, Stream
from strandline_spark import handout, work
from strandline_spark.engine import CaptureLake

from strandline.alone import choice
from strandline.alone import work as alone
from strandline.alone.stores import fencing
from strandline.alone.stores.tables import opened, rows
from strandline.engine import recorded_at
from strandline.errors import SpecError
from strandline.runs.lake import SourceLake
from strandline.runs.way import WAY_VARIABLE, Way

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which no worker can import

ORDERS, CUSTOMERS = "shop.public.orders", "shop.public.customers"


def stream(topic, *changes):
    s = Stream(topic=topic)
    for at, (op, key, name) in enumerate(changes, 1):
        s.change(op, key, at, name=name)
    return s


@pytest.fixture
def capture(spark, tmp_path):
    moment = recorded_at([Stream().change("c", 1, 1)])
    lake = SourceLake(tmp_path.as_posix(), "shop")
    return CaptureLake(lake, "postgresql", moment, way=Way.AUTO, session=spark)


def ending(once, table, manifest, cut, known):
    """The work on a table, which ends its process: each time, or until there is a file `once`."""
    if cut.table == table and (once is None or not Path(once).exists()):
        if once is not None:
            Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return alone.done(manifest, cut, known)


def dying(once, table, number, side, manifest, cut, known):
    """The work on a table, which kills its process once, at that commit of it."""
    if cut.table == table and not Path(once).exists():
        met = 0

        def killed(commit):
            def committed(*args, **named):
                nonlocal met
                own, met = met, met + 1
                if (own, side) == (number, "after"):
                    commit(*args, **named)
                if own == number:
                    Path(once).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return commit(*args, **named)

            return committed

        fencing.write_deltalake = killed(fencing.write_deltalake)
        TableMerger.execute = killed(TableMerger.execute)
    return alone.done(manifest, cut, known)


def run(capture, number, *streams):
    records = [record for each in streams for record in each.records]
    capture.land(records)
    receipt = work.done(capture.session, capture.manifest(number, records))
    return {table.topic: table for table in receipt.tables}


def names(capture, topic):
    sql = "SELECT name FROM stored ORDER BY _key, _seq_from"
    return [row["name"] for row in rows(opened(capture.lake.history(topic)), sql)]


def test_small_tables_go_alone_and_the_receipt_says_so(capture):
    orders, customers = (
        stream(ORDERS, ("c", 1, "a"), ("u", 1, "b")),
        stream(CUSTOMERS, ("c", 2, "c")),
    )
    done = run(capture, 1, orders, customers)
    assert {topic: table.way for topic, table in done.items()} == dict.fromkeys(
        (ORDERS, CUSTOMERS), Way.ALONE
    )
    assert names(capture, ORDERS) == ["a", "b"]
    assert opened(capture.lake.changes(ORDERS)) is None


def test_a_table_that_fails_holds_no_other(capture):
    folder = Path(capture.lake.root, "shop", "tables")
    folder.mkdir(parents=True)
    (folder / ORDERS).write_text("a file where the table's folder should be")
    done = run(capture, 1, stream(ORDERS, ("c", 1, "a")), stream(CUSTOMERS, ("c", 2, "c")))
    assert done[ORDERS].error is not None
    assert done[CUSTOMERS].error is None
    assert names(capture, CUSTOMERS) == ["c"]


@pytest.mark.heavy
def test_what_cannot_be_done_alone_is_spread_in_the_same_run(capture):
    s = Stream(
        topic=ORDERS, columns=[*COLUMNS, {"type": "string", "optional": True, "field": "full name"}]
    )
    s.change("c", 1, 1, name="a", more={"full name": "A"})
    done = run(capture, 1, s, stream(CUSTOMERS, ("c", 2, "c")))
    assert (done[ORDERS].way, done[ORDERS].error) == (Way.SPREAD, None)
    assert done[CUSTOMERS].way == Way.ALONE
    assert names(capture, ORDERS) == ["a"]
    again = run(capture, 2, stream(CUSTOMERS, ("c", 2, "c"), ("u", 2, "d")))
    assert again[CUSTOMERS].way == Way.ALONE


def test_what_is_large_is_spread_and_goes_alone_when_little_arrives(capture, monkeypatch):
    monkeypatch.setattr(choice, "MOST_ARRIVED", 2)
    large = stream(ORDERS, *(("c", key, "a") for key in range(3)))
    assert run(capture, 1, large)[ORDERS].way == Way.SPREAD
    assert names(capture, ORDERS) == ["a", "a", "a"]
    small = Stream(topic=ORDERS)
    small.skip(3)
    small.change("u", 1, 10, name="b")
    assert run(capture, 2, small)[ORDERS].way == Way.ALONE
    assert names(capture, ORDERS) == ["a", "a", "b", "a"]


def test_the_environment_decides_before_the_manifest_does(capture, monkeypatch):
    monkeypatch.setenv(WAY_VARIABLE, "spread")
    assert run(capture, 1, stream(ORDERS, ("c", 1, "a")))[ORDERS].way == Way.SPREAD
    monkeypatch.setenv(WAY_VARIABLE, "sideways")
    with pytest.raises(SpecError, match="STRANDLINE_WAY must be one of auto, alone, spread"):
        run(capture, 2, stream(CUSTOMERS, ("c", 1, "a")))


def test_many_bytes_are_spread_however_few_the_records_are(capture, monkeypatch):
    monkeypatch.setattr(choice, "MOST_BYTES", 1)
    assert run(capture, 1, stream(ORDERS, ("c", 1, "a")))[ORDERS].way == Way.SPREAD


def test_a_table_that_ends_its_worker_holds_no_other(capture, tmp_path, monkeypatch):
    monkeypatch.setattr(handout, "done", partial(ending, str(tmp_path / "once"), ORDERS))
    done = run(capture, 1, stream(ORDERS, ("c", 1, "a")), stream(CUSTOMERS, ("c", 2, "c")))
    assert [table.error for table in done.values()] == [None, None]
    monkeypatch.setattr(handout, "done", partial(ending, None, ORDERS))
    orders, customers = Stream(topic=ORDERS), Stream(topic=CUSTOMERS)
    for each in (orders, customers):
        each.skip(1)
        each.change("u", 1, 10, name="b")
    done = run(capture, 2, orders, customers)
    assert done[ORDERS].transient
    assert done[CUSTOMERS].error is None
    assert names(capture, ORDERS) == ["a"]
    assert names(capture, CUSTOMERS) == ["b", "c"]


# One death here, the others in `make spark`.
_HERE = (1, "after")
_DEATHS = [
    pytest.param(commit, side, marks=() if (commit, side) == _HERE else pytest.mark.heavy)
    for commit in range(3)  # quarantine, records, history
    for side in ("before", "after")
]


@pytest.mark.parametrize(("commit", "side"), _DEATHS)
def test_a_worker_that_was_killed_at_any_commit_leaves_what_nothing_would_have_left(
    capture, tmp_path, monkeypatch, commit, side
):
    once = tmp_path / "once"
    s = stream(ORDERS, ("c", 1, "a"), ("c", 2, "b"))
    run(capture, 1, s, stream(CUSTOMERS, ("c", 2, "c")))
    orders, customers = Stream(topic=ORDERS), Stream(topic=CUSTOMERS)
    orders.skip(2)
    orders.change("u", 1, 10, name="d")
    orders.add(b'{"id":9}', b"no JSON")
    customers.skip(1)
    customers.change("u", 2, 10, name="e")
    monkeypatch.setattr(handout, "done", partial(dying, str(once), ORDERS, commit, side))
    done = run(capture, 2, orders, customers)
    assert once.exists()
    assert {topic: (table.error, table.way) for topic, table in done.items()} == dict.fromkeys(
        (ORDERS, CUSTOMERS), (None, Way.ALONE)
    )
    assert (done[ORDERS].counts.changes, done[ORDERS].counts.quarantined) == (1, 1)
    assert (names(capture, ORDERS), names(capture, CUSTOMERS)) == (["a", "d", "b"], ["c", "e"])
    known = rows(opened(capture.lake.records(ORDERS)), 'SELECT "offset" FROM stored ORDER BY 1')
    assert [row["offset"] for row in known] == [0, 1, 2, 3]
    refused = rows(opened(capture.lake.quarantine), 'SELECT "offset" FROM stored')
    assert [row["offset"] for row in refused] == [3]
