"""A worker of Celery that is killed with its Spark, in the middle of a compaction."""

from collections import Counter

import pytest

from examples.captures import WAVES
from examples.histories import receipts
from installations import celery_executor
from installations.celery_executor import WORKERS
from installations.site import until
from installations.story import PATIENCE, WITH_SPARK, overlapping

pytestmark = pytest.mark.heavy


def with_spark(installation):
    """The worker whose Spark it is."""
    return next((one for one in WORKERS if "SparkSubmit" in installation.programs(one)), None)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    with celery_executor.opened(folder, [WITH_SPARK], missed_after=40) as story:
        installation, lake = story.installation, story.installation.stage.lake
        story.land(1)
        until(lambda: with_spark(installation), PATIENCE)
        victim = with_spark(installation)
        commits = "*/tables/*/history/_delta_log/*.json"
        until(lambda: any(lake.glob(commits)), PATIENCE)
        installation.kill(victim)
        assert receipts(installation.stage.source_lake(WITH_SPARK)) == ()  # it had more to do
        story.settle(1)
        story.land(2)
        story.settle(2)
        yield story


def test_the_retry_on_the_other_worker_ends_the_compaction(story):
    attempts = story.attempts(WITH_SPARK)
    assert [(one.number, one.state) for one in attempts] == [
        (1, "failed"),
        (2, "success"),
        (1, "success"),
    ]
    assert overlapping(attempts) == []


def test_the_histories_are_what_the_database_itself_recorded(story):
    assert story.disagreements(WITH_SPARK) == []


def test_each_wave_is_one_run_in_which_every_record_counts_once(story):
    runs = receipts(story.installation.stage.source_lake(WITH_SPARK))
    for run, number in zip(runs, WAVES, strict=True):
        sent = Counter(record.at.topic for record in WITH_SPARK.wave(number))
        assert {table.topic: table.counts.landed for table in run.tables} == {
            table.topic: sent[table.topic] for table in run.tables
        }
        assert all(table.counts.conserved for table in run.tables)
