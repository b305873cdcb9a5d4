"""Several machines: CeleryExecutor with two schedulers and two workers, metadata in PostgreSQL."""

import re

import pytest

from examples.captures import WAVES
from installations import celery_executor
from installations.celery_executor import WORKERS
from installations.story import ALONE, PATIENCE, SOURCES, overlapping

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    with celery_executor.opened(tmp_path_factory.mktemp("celery")) as story:
        for number in WAVES:
            story.land(number)
            story.compact(at_once=3)
            tending = story.site.trigger(f"maintain__{ALONE.source}", {"dry_run": False})
            story.settle(number)
            story.site.wait([tending], PATIENCE)
        yield story


@pytest.mark.parametrize("capture", SOURCES, ids=["Spark", "alone"])
def test_the_histories_are_what_the_database_itself_recorded(story, capture):
    assert story.disagreements(capture) == []


@pytest.mark.parametrize("capture", SOURCES, ids=["Spark", "alone"])
def test_no_two_compactions_of_a_source_overlap_under_two_schedulers(story, capture):
    attempts = story.attempts(capture)
    assert len(attempts) >= len(WAVES)
    assert overlapping(attempts) == []


def test_what_other_dags_do_to_a_source_does_not_overlap_either(story):
    attempts = story.attempts(ALONE, "compact", "maintain")
    assert len(attempts) >= 2 * len(WAVES)
    assert overlapping(attempts) == []


@pytest.mark.parametrize("capture", SOURCES, ids=["Spark", "alone"])
def test_every_run_of_a_compaction_succeeds_at_the_first_attempt(story, capture):
    assert {run["state"] for run in story.compactions(capture)} == {"success"}
    assert {each.number for each in story.attempts(capture)} == {1}


def test_both_workers_and_both_schedulers_have_their_part(story):
    for worker in WORKERS:
        assert re.search(r"Task execute_workload\S* succeeded", story.installation.log(worker))
    jobs = story.site.ask("api/v2/jobs?job_type=SchedulerJob&is_alive=true")["jobs"]
    assert [job["state"] for job in jobs] == ["running", "running"]
