"""What people order for a table that Spark spreads, on a lake in an object store."""

import pyarrow.parquet as pq
import pytest
from samples.events import Stream
from stages import driver_stage, s3_stage
from stages.alone_stage import only, run
from stages.order_stage import TOPIC, names, ordered, versions

from strandline.alone.stores.tables import opened
from strandline.changes.rules import TableRules
from strandline.engine import recorded_at
from strandline.runs.erasure import Erasure, digest
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Work
from strandline.runs.rebuild import Rebuild
from strandline.runs.upkeep import Upkeep

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def driver(store, tmp_path_factory):
    """A driver that reaches the store by the variables and settings of a deployment."""
    settings = s3_stage.of_spark(store.endpoint) | s3_stage.LOG_STORE
    folder = tmp_path_factory.mktemp("driver")
    with driver_stage.opened(folder, store.environment, settings) as driver:
        yield driver


@pytest.fixture
def capture(store, root, driver, monkeypatch):
    """A lake whose runs are spread."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    moment = recorded_at([Stream().change("c", 1, 1)])
    return driver_stage.DrivenLake(SourceLake(root, "shop"), "postgresql", moment, driver=driver)


@pytest.fixture
def shop(capture):
    """A table after two runs: ada is bob now, wilhelmina has moved from key 2 to key 3."""
    s = Stream()
    s.change("c", 1, 10, name="ada")
    s.change("c", 2, 11, name="wilhelmina")
    run(capture, 1, s.records)
    s.change("u", 1, 20, name="bob")
    s.change("d", 2, 30, newkey=3)
    s.change("c", 3, 30, name="wilhelmina", oldkey=2)
    run(capture, 2, s.records[2:])
    assert names(capture) == ["ada", "bob", "wilhelmina", "wilhelmina"]
    return s


def files(store, capture, pattern):
    """The objects of the source's lake with such a name."""
    home = capture.lake.home.removeprefix("s3a://")
    return list((store.folder / home).rglob(pattern))


def test_an_erasure_leaves_nothing_of_the_key_in_any_file_and_runs_go_on(shop, capture, store):
    order = Erasure((digest('{"id":3}'),))
    erased = only(capture.compact(ordered(capture, 3, Work.ERASE, order)))
    assert (erased.did["keys"], erased.did["history"], erased.did["found afterwards"]) == (2, 2, 0)
    data = files(store, capture, "*.parquet")
    assert data
    assert [each for each in data if "wilhelmina" in str(pq.read_table(each).to_pylist())] == []
    logs = files(store, capture, "[0-9]*.json")
    assert [each for each in logs if "wilhelmina" in each.read_text()] == []
    shop.change("u", 1, 40, name="joe")
    run(capture, 4, shop.records[-1:])
    assert names(capture) == ["ada", "bob", "joe"]


def test_a_replay_takes_the_place_of_the_history_and_is_gone_on_from_and_taken_back(shop, capture):
    capture.rules = lambda _: TableRules(ignore=("name",))
    order = Rebuild(versions(capture), swap=True)
    replayed = only(capture.compact(ordered(capture, 3, Work.REPLAY, order, shop.records)))
    assert (replayed.did["equal"], replayed.did["only in the old"]) == (2, 1)
    assert names(capture) == ["bob", "wilhelmina", "wilhelmina"]
    shop.change("c", 4, 40, name="joe")
    run(capture, 4, shop.records[-1:])
    only(capture.compact(ordered(capture, 5, Work.UNDO, Rebuild(undo=3), shop.records)))
    assert names(capture) == ["ada", "bob", "wilhelmina", "wilhelmina"]
    capture.rules = lambda _: TableRules()
    only(capture.compact(capture.manifest(6, shop.records[-1:])))
    assert names(capture) == ["ada", "bob", "wilhelmina", "wilhelmina", "joe"]


def test_maintenance_merges_files_and_removes_those_of_before_and_runs_go_on(shop, capture, store):
    receipt = capture.compact(ordered(capture, 3, Work.MAINTAIN, Upkeep(0), shop.records))
    assert [each.error for each in (*receipt.tables, *receipt.stores)] == [None] * (
        1 + len(receipt.stores)
    )
    assert only(receipt).did["files merged"] > only(receipt).did["files made"]
    only(capture.compact(ordered(capture, 4, Work.MAINTAIN, Upkeep(0), shop.records)))
    history = opened(capture.lake.history(TOPIC))
    data = files(store, capture, f"{TOPIC}/history/**/*.parquet")
    assert {each.name for each in data if "_delta_log" not in each.parts} == {
        uri.rpartition("/")[2] for uri in history.file_uris()
    }
    shop.change("u", 1, 40, name="joe")
    run(capture, 5, shop.records[-1:])
    assert names(capture) == ["ada", "bob", "joe", "wilhelmina", "wilhelmina"]
