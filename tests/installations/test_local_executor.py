"""One machine as it should be: LocalExecutor with several workers, metadata in PostgreSQL."""

import pytest

from examples.captures import WAVES
from installations.installation import Installation, scheduler
from installations.story import SOURCES, Story, overlapping

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    settings = {"AIRFLOW__CORE__EXECUTOR": "LocalExecutor"}
    with Installation(folder, SOURCES, scheduler("scheduler"), settings) as installation:
        story = Story(installation)
        for number in WAVES:
            story.land(number)
            story.compact(at_once=3)
            story.settle(number)
        yield story


@pytest.mark.parametrize("capture", SOURCES, ids=["Spark", "alone"])
def test_the_histories_are_what_the_database_itself_recorded(story, capture):
    assert story.disagreements(capture) == []


@pytest.mark.parametrize("capture", SOURCES, ids=["Spark", "alone"])
def test_every_run_of_a_compaction_succeeds_and_no_two_overlap(story, capture):
    assert {run["state"] for run in story.compactions(capture)} == {"success"}
    attempts = story.attempts(capture)
    assert len(attempts) >= len(WAVES)
    assert overlapping(attempts) == []
