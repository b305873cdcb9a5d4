"""A sample of `make chaos`: tasks that are killed, doubled, and come back from the dead."""

import os
import signal

import pytest
from chaos import law
from chaos.doors import Fate
from chaos.records import ROWS, TABLES, TOPICS, waves
from chaos.story import Story

from strandline.runs.way import Way

TABLE = f"tables/{TABLES[ROWS]}"


@pytest.fixture
def story(spark, tmp_path):
    with Story(tmp_path, TOPICS, spark) as story:
        yield story


def violations(story, told):
    return law.violations(story.lake, [record for wave in told for record in wave])


def killed(step):
    return Fate(step)


@pytest.mark.heavy
def test_whatever_is_killed_and_started_again_leaves_what_nothing_would_have_left(story):
    told = waves()[:2]
    fates = {
        "around 0": [
            "before create partitions 1",
            "after write_deltalake landing 1",
            "before write_deltalake manifests 1",
        ],
        "compact 0": [f"after * {TABLE}/records 1", f"after * {TABLE}/history 1"],
        "around 1": [
            "before create publications 1",
            "after write_deltalake publications 1",
            "after write_deltalake manifests 1",
        ],
        "compact 1": [f"before * {TABLE}/history 1"],
    }
    story.tell(told, lambda task: killed(fates[task].pop(0)) if fates.get(task) else None)
    ends = [(attempt.fate is None, attempt.ok) for attempt in story.attempts]
    assert ends.count((False, False)) == 9
    assert ends.count((False, True)) == 0
    assert violations(story, told) == []


@pytest.mark.parametrize("way", [pytest.param(Way.SPREAD, marks=pytest.mark.heavy), Way.AUTO])
def test_two_drivers_with_one_manifest_have_one_effect_and_say_the_same(spark, tmp_path, way):
    (first, *_) = waves()
    with Story(tmp_path, TOPICS, spark, way) as story:
        manifest = story.around(0, first)
        twins = [story.driver(manifest) for _ in range(2)]
        for twin in twins:
            twin.process.join()
            assert twin.process.exitcode == 0, twin.output.read_text()
        story.tell([], number=1, manifest=manifest)
        assert violations(story, [first]) == []


def test_the_tables_that_a_killed_driver_has_handed_out_are_found_done_by_the_next(spark, tmp_path):
    told = waves()[:2]
    fates = {
        "compact 0": ["before write_text runs/*/receipt.json 1"],
        "compact 1": ["after write_text runs/*/receipt.json 1"],
    }
    with Story(tmp_path, TOPICS, spark, Way.AUTO) as story:
        story.tell(told, lambda task: killed(fates[task].pop(0)) if fates.get(task) else None)
        assert [attempt.ok for attempt in story.attempts if attempt.fate] == [False] * 2
        assert violations(story, told) == []


@pytest.mark.heavy
def test_a_zombie_that_wakes_after_its_successors_changes_nothing(story):
    first, second, _ = waves()
    manifest = story.around(0, first)
    asleep = Fate(f"before * {TABLE}/history 1", signal=signal.SIGSTOP)
    zombie = story.driver(manifest, asleep)
    pid = zombie.wait_for_its_step()
    story.compact(0, manifest)
    story.tell([second], number=1, manifest=manifest)
    before = law.state(story.lake)
    os.kill(pid, signal.SIGCONT)
    zombie.process.join()
    assert zombie.process.exitcode == 0, zombie.output.read_text()
    assert law.differences(before, law.state(story.lake)) == []
    assert violations(story, [first, second]) == []


def test_alone_too_whatever_is_killed_leaves_what_nothing_would_have_left(spark, tmp_path):
    told = waves()[:2]
    fates = {
        "compact 0": [
            f"after write_deltalake {TABLE}/records 1",
            f"after write_deltalake {TABLE}/history 1",
        ],
        "compact 1": [
            f"before * {TABLE}/history 1",
            "after write_text runs/*/receipt.json 1",
        ],
    }
    with Story(tmp_path, TOPICS, spark, Way.ALONE) as story:
        story.tell(told, lambda task: killed(fates[task].pop(0)) if fates.get(task) else None)
        assert [attempt.ok for attempt in story.attempts if attempt.fate] == [False] * 4
        assert violations(story, told) == []
