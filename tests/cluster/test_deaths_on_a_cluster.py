"""Executors, workers and a master that die in the middle of a run leave what nothing would have."""

import shutil

import pytest
from samples.events import Stream
from stages.cluster_dying import Fate
from stages.cluster_runs import Submission, lines, opened, untimed

from examples.spark_cluster import Cluster
from strandline import engine
from strandline.cells import rendering
from strandline.errors import Transient
from strandline.runs.way import Way

pytestmark = pytest.mark.heavy

TOPICS = {Way.ALONE: ["shop.a.item", "shop.b.item", "shop.c.item"], Way.SPREAD: ["shop.a.item"]}


def waves(way):
    """Two batches; in the second keys go on, and a move and a late change, which do not."""
    batches = [], []
    for topic in TOPICS[way]:
        s = Stream(topic=topic)
        for key in range(20):
            s.change("c", key, 10 + 2 * key, name=f"row {key}", partition=key % 2)
        batches[0].extend(s.records)
        s.records.clear()
        for key in range(3, 12):
            s.change("u", key, 100 + key, name="changed", partition=key % 2)
        s.change("u", 1, 11, name="late")
        s.change("d", 2, 120, newkey=30)
        s.change("c", 30, 120, name="moved", oldkey=2)
        batches[1].extend(s.records)
    return batches


class Shop:
    """A lake of which a cluster makes two runs."""

    def __init__(self, folder, way, submit):
        self.waves = waves(way)
        records = [record for wave in self.waves for record in wave]
        self.lake = opened(folder / "lake", records, way, submit)

    def run(self, number):
        """The receipt of a run, without what the clock has said."""
        wave = self.waves[number - 1]
        self.lake.land(wave)
        return untimed(self.lake.compact(self.lake.manifest(number, wave)))

    def history(self, receipt):
        return lines(self.lake.lake, [receipt])


@pytest.fixture(scope="module")
def undisturbed(python, tmp_path_factory):
    """By way: a lake after its first run; the receipt and the history of the second one."""
    made = {}
    folder = tmp_path_factory.mktemp("undisturbed")

    def undisturbed(way):
        if way not in made:
            with Cluster(folder / f"cluster {way}") as cluster:
                shop = Shop(folder / way, way, Submission(cluster, python, folder))
                shop.run(1)
                shutil.copytree(folder / way, folder / f"{way} before")
                receipt = shop.run(2)
            law = engine.python([r for wave in shop.waves for r in wave], batches=1, source=None)
            found = shop.history(receipt)
            assert found == [rendering.line(topic, cells) for topic, cells in law.rows]
            made[way] = folder / f"{way} before", receipt, found
        return made[way]

    return undisturbed


@pytest.fixture
def disturbed(cluster, python, tmp_path, undisturbed):
    """Makes the second run, which a fate befalls; whether all is as if nothing had."""

    def disturbed(way, step, victim):
        before, receipt, history = undisturbed(way)
        shutil.copytree(before, tmp_path / way)
        come = tmp_path / "come"
        fate = Fate(step, victim, str(come), cluster.master.process.pid)
        shop = Shop(tmp_path / way, way, Submission(cluster, python, tmp_path, fate))
        found = shop.run(2)
        assert come.exists()
        assert found == receipt
        assert shop.history(found) == history

    return disturbed


@pytest.mark.parametrize("victim", ["executor", "worker"])
@pytest.mark.parametrize("step", ["read", "fold"])
def test_a_table_goes_on_when_an_executor_or_its_worker_dies_over_it(disturbed, step, victim):
    disturbed(Way.SPREAD, step, victim)


def test_a_table_whose_rows_died_with_all_executors_before_its_commit_is_done_anew(disturbed):
    disturbed(Way.SPREAD, "commit", "executors")


def test_a_table_that_an_executor_had_alone_is_done_by_the_other(disturbed):
    disturbed(Way.ALONE, "alone", "executor")


def test_a_run_goes_on_without_its_master_and_the_next_says_that_none_answers(
    cluster, disturbed, python, tmp_path
):
    disturbed(Way.SPREAD, "commit", "master")
    cluster.master.process.wait()
    later = Shop(tmp_path / "later", Way.ALONE, Submission(cluster, python, tmp_path))
    with pytest.raises(Transient, match=f"Spark master {cluster.address} .* does not answer"):
        later.run(1)
    cluster.start_master()
    cluster.wait_for_workers()
    receipt = untimed(later.lake.compact(later.lake.manifest(1, later.waves[0])))
    assert [table.error for table in receipt.tables] == [None] * len(TOPICS[Way.ALONE])
