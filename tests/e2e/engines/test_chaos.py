"""Compactions that are killed, or doubled, with a JVM of their own; `make chaos` does many more."""

import pytest
from chaos import law
from chaos.doors import Fate
from chaos.records import ROWS, TABLES, TOPICS, waves
from chaos.story import Story

pytestmark = pytest.mark.heavy

HISTORY = f"tables/{TABLES[ROWS]}/history"


@pytest.fixture
def story(spark, tmp_path):
    with Story(tmp_path, TOPICS, spark) as story:
        yield story


@pytest.mark.parametrize("victims", [("parent",), ("parent", "task")], ids=["JVM", "both"])
def test_a_killed_jvm_leaves_what_its_successor_goes_on_from(story, victims):
    (first, *_) = waves()
    fates = [Fate(f"after * {HISTORY} 1", victims)]
    story.tell([first], lambda task: fates.pop() if task == "compact 0" and fates else None)
    assert [attempt.ok for attempt in story.attempts if attempt.fate] == [False]
    assert law.violations(story.lake, first) == []


def test_two_spark_applications_with_one_manifest_have_one_effect(story):
    (first, *_) = waves()
    manifest = story.around(0, first)
    twins = [story.submit(manifest) for _ in range(2)]
    for twin in twins:
        said, _ = twin.communicate()
        assert twin.returncode == 0, said
    story.tell([], number=1, manifest=manifest)
    assert law.violations(story.lake, first) == []
