"""The DAGs that people trigger, from the form to the state of the run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from strandline_airflow.dag import source_dags
from strandline_airflow.forms import backfill, epoch
from strandline_airflow.landing import land_run
from strandline_airflow.landing.kafka import KafkaSegments
from strandline_airflow.runs.epochs import Epochs

from strandline.errors import SpecError, Terminal, Transient

TOPIC = "shop.t"


@pytest.fixture
def trigger(source_path, airflow_database):  # noqa: ARG001 - a DAG run needs it
    """Runs a DAG of the source; how it ended, and the state of each task."""

    def trigger(what, **conf):
        dag = next(dag for dag in source_dags(source_path) if dag.dag_id == f"{what}__shop")
        run = dag.test(run_conf=conf)
        return run.state, {task.task_id: str(task.state) for task in run.get_task_instances()}

    return trigger


@pytest.fixture
def filled(connected, records):
    """A topic of two partitions with three records in each."""
    connected.create_topic(TOPIC, 2)
    connected.replay([*records(3), *records(3, partition=1)])
    return connected


@pytest.fixture
def silent(monkeypatch):
    """Lets a partition be one whose leader does not answer."""
    asked = KafkaSegments.barrier

    def silent(topic, partition):
        def barrier(self, *given):
            found = asked(self, *given)
            answered = (m for m in found.watermarks if (m.topic, m.partition) != (topic, partition))
            line = f"{topic}[{partition}]: Broker: Leader not available"
            return replace(found, watermarks=tuple(answered), unanswered=(line,))

        monkeypatch.setattr(KafkaSegments, "barrier", barrier)

    return silent


def segments(source, **given):
    params = {name: param.resolve() for name, param in backfill.PARAMS.items()}
    return backfill.segments(source, {**params, "topics": [TOPIC], **given}, datetime.now(UTC))


# ---------------------------------------------------- backfill


@pytest.mark.usefixtures("filled")
def test_a_backfill_that_lands_is_a_success_and_a_dry_run_is_one_too(trigger):
    assert trigger("backfill", topics=[TOPIC]) == (
        "success",
        {"plan": "skipped", "land": "skipped", "collect": "success", "report": "success"},
    )
    state, tasks = trigger("backfill", topics=[TOPIC], connection=None, dry_run=False)
    assert state == "success"
    assert set(tasks.values()) == {"success"}


@pytest.mark.usefixtures("filled")
def test_a_backfill_whose_plan_is_refused_has_failed(trigger, capsys):
    state, tasks = trigger("backfill", topics=["other.t"], dry_run=False)
    assert state == "failed"
    assert tasks == {
        "plan": "failed",
        "land": "upstream_failed",
        "collect": "success",
        "report": "upstream_failed",
    }
    assert "topic 'other.t' is none of shop" in capsys.readouterr().out


@pytest.mark.usefixtures("filled")
def test_a_backfill_that_could_not_land_has_failed(trigger, monkeypatch):
    def land(*_):
        raise Terminal("no offset is left")

    monkeypatch.setattr(land_run, "land", land)
    state, tasks = trigger("backfill", topics=[TOPIC], dry_run=False)
    assert state == "failed"
    assert tasks["report"] == "upstream_failed"


@pytest.mark.usefixtures("filled")
def test_a_partition_that_does_not_answer_is_refused_and_nothing_is_landed(source, silent):
    silent(TOPIC, 1)
    with pytest.raises(Transient, match=r"shop\.t\[1\]: .*; nothing was landed: .* 'partition'"):
        segments(source)
    assert [each.partition for each in segments(source, partition=0)] == [0]


@pytest.mark.usefixtures("filled")
def test_a_partition_that_nobody_asked_for_need_not_answer(source, silent):
    silent("shop.other", 1)
    assert len(segments(source)) == 2


@pytest.mark.usefixtures("filled")
def test_a_topic_of_which_nothing_answers_is_not_called_missing(source, connected, silent):
    connected.create_topic("shop.mute")
    silent("shop.mute", 0)
    with pytest.raises(Transient, match=r"shop\.mute\[0\]"):
        segments(source, topics=["shop.mute"])


# ---------------------------------------------------- epoch


def declare(source, **given):
    params = {name: param.resolve() for name, param in epoch.PARAMS.items()}
    return epoch.run(source, {**params, "dry_run": False, **given}, datetime.now(UTC))


def test_an_epoch_that_is_yet_to_begin_is_refused_and_the_right_one_can_be_declared(source):
    """It would be the last one: nothing before it could be declared any more."""
    today = datetime.now(UTC)
    with pytest.raises(SpecError, match=r"'since' \(.*\) is later than this run's own time"):
        declare(source, since=(today + timedelta(days=365)).isoformat())
    assert Epochs(source).all() == ()
    assert declare(source, since=(today - timedelta(hours=1)).isoformat()) == 1


def test_an_epoch_needs_no_note(source):
    assert declare(source, since="2026-11-01T00:00:00Z", note=None) == 1


def test_a_field_that_is_misspelt_fails_the_run_before_anything_is_declared(
    trigger, source, capsys
):
    state, tasks = trigger("epoch", sinse="2026-11-01T00:00:00Z", dry_run=False)
    assert (state, tasks) == ("failed", {"declare": "failed"})
    assert "epoch__shop has no field 'sinse'; the closest of 3 are since" in capsys.readouterr().out
    assert Epochs(source).all() == ()


def test_a_misspelt_field_of_a_replay_does_not_swap_all_tables(trigger, capsys):
    state, tasks = trigger("replay", table="orders", swap=True, dry_run=False)
    assert state == "failed"
    assert tasks["plan"] == "failed"
    assert "replay__shop has no field 'table'; the closest of 4 is tables" in (
        capsys.readouterr().out
    )
