"""Deadlines of runs: from when they count, and who is told by the triggerer."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from airflow.api.common.trigger_dag import trigger_dag
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
from airflow.models.deadline import Deadline
from airflow.triggers.callback import CallbackTrigger
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType
from servers.receivers import TO_HOOK, TO_MAIL
from stages import airflow_stage
from strandline_airflow.monitoring import deadlines

from strandline.errors import Transient

LONG_AGO = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def airflow(airflow_database):
    assert airflow_database is None


@pytest.fixture
def missed(source_path, monkeypatch):
    """A run of `land__late`, planned then, and its deadline, which it misses at once."""
    monkeypatch.delenv("AIRFLOW_CONN_KAFKA_SHOP", raising=False)
    late = source_path.with_name("late.toml")
    late.write_text(f'freshness = "10m"\n{source_path.read_text()}{TO_HOOK}')
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(DagBag(airflow_stage.PROJECT / "dags"), "dags-folder", None)

    def missed(planned):
        by = DagRunTriggeredByType.TEST
        with create_session() as session:
            run = trigger_dag(
                "land__late",
                triggered_by=by,
                run_id=str(uuid4()),
                run_after=planned,
                session=session,
            )
            session.flush()
            (deadline,) = session.query(Deadline).filter_by(dagrun_id=run.id)
            deadline.handle_miss(session)
            session.expunge_all()
        return run, deadline

    return missed


def test_a_run_has_from_the_time_for_which_it_was_planned(missed):
    planned = datetime.now(UTC) + timedelta(days=1)
    assert missed(planned)[1].deadline_time == planned + timedelta(minutes=10)


def test_a_run_that_was_made_after_its_planned_time_has_from_then(missed):
    run, deadline = missed(LONG_AGO)
    assert deadline.deadline_time == run.created_at + timedelta(minutes=10)


def test_a_run_that_is_late_is_told_by_the_triggerer(missed, hook, monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com")
    run, deadline = missed(LONG_AGO)
    asyncio.run(_triggered(deadline.callback.data))
    (post,) = hook.posts
    assert post["title"] == "Strandline: late: land__late takes too long"
    assert f"Run {run.run_id} has not ended within the 10m" in post["text"]
    (alert,) = post["alerts"]
    cause = alert.pop("cause")
    assert cause in post["text"]
    assert "Is a task waiting for its pool" in cause
    assert alert == {
        "source": "late",
        "table": None,
        "kind": "deadline",
        "since": run.created_at.isoformat(),
        "behind_seconds": 600.0,
        "ended": False,
        "url": f"https://airflow.example.com/dags/land__late/runs/{run.run_id}",
        "dag_id": "land__late",
        "run_id": run.run_id,
    }


@pytest.fixture
def late(source_path):
    """Misses the deadline of `land__shop`, whose source has these notifiers."""

    def late(sections="", state="running"):
        source_path.write_text(source_path.read_text() + sections)
        context = {
            "dag_run": {"dag_run_id": "r", "state": state},
            "deadline": {"deadline_time": LONG_AGO},
        }
        asyncio.run(deadlines.missed(str(source_path), "land__shop", context))

    return late


@pytest.mark.parametrize("state", ["failed", "success"])
def test_a_run_that_has_ended_does_not_take_too_long(late, hook, state):
    late(TO_HOOK, state)
    assert hook.posts == []


def test_a_run_that_has_not_begun_takes_too_long(late, hook):
    late(TO_HOOK, "queued")
    (post,) = hook.posts
    assert "(it is queued)" in post["text"]


def test_a_notifier_that_fails_keeps_no_other_from_telling_a_late_run(late, mails, caplog):
    with pytest.raises(Transient, match="no Airflow connection 'ops_hook'"):
        late(TO_HOOK + TO_MAIL)
    assert [mail["subject"] for mail in mails] == ["Strandline: shop: land__shop takes too long"]
    assert "Not told: Strandline: shop: land__shop takes too long: there is no" in caplog.text


def test_a_late_run_that_nobody_is_named_for_is_in_the_log(late, caplog):
    late()
    assert "Strandline: shop: land__shop takes too long" in caplog.text
    assert "within the 2h" in caplog.text


async def _triggered(callback):
    trigger = CallbackTrigger(callback["path"], callback["kwargs"])
    states = [event.payload["state"] async for event in trigger.run()]
    assert states[-1] == "success"
