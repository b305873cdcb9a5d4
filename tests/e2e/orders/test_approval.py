"""An erasure and a swap that a person has to approve: asked and answered by Airflow's own API."""

from types import SimpleNamespace

import pytest
from airflow.jobs.job import Job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.sdk.definitions import dag as dag_module
from servers import receivers
from stages import page_stage
from stages.shop_stage import opened

from examples.embedded_kafka import EmbeddedKafka

pytestmark = pytest.mark.heavy

ASKS = '[approval]\nerase = true\nswap = true\nby = ["ann"]\n'
ERASE = {"table": "public.item", "keys": ["1"], "dry_run": False}
WHOLE = ["1: ada", "2: ada"]
NOT_DONE = {"plan": "skipped", "publish": "skipped", "report": "skipped"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    with (
        EmbeddedKafka() as broker,
        opened(folder, broker, None, 'engine = "alone"\n') as shop,
        receivers.web_server() as (port, shop.hook),
        pytest.MonkeyPatch.context() as environment,
    ):
        receivers.connection(environment, "ops_hook", conn_type="http", schema="http", port=port)
        environment.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com")
        shop.says(ASKS + receivers.TO_HOOK)
        for key in (1, 2):
            shop.stream.change("c", key, key * 10, name="ada")
        shop.land()
        shop.trigger("compact")
        yield shop


@pytest.fixture(scope="module")
def server():
    """Airflow's API server with a user of each role."""
    with page_stage.airflow() as server:
        yield server


@pytest.fixture
def meanwhile(monkeypatch):
    """Has something done whenever a run that is tested says that it waits for a person."""
    said = dag_module.log.info

    def meanwhile(do):
        def info(text, *given):
            said(text, *given)
            if text.startswith("Waiting for Human-in-the-loop"):
                do()

        monkeypatch.setattr(dag_module.log, "info", info)

    return meanwhile


@pytest.fixture
def answer(server, meanwhile):
    """Has a user give this answer to all that is asked; what was asked, and how it was taken."""
    told = SimpleNamespace(asked=[], taken=[])

    def answer(option, by=("ann", "a"), before=lambda: None):
        api = page_stage.client(server, *by, root="/api/v2/")

        def do():
            before()
            (task,) = api.get("dags/~/dagRuns/~/hitlDetails?state=awaiting_input").json()[
                "hitl_details"
            ]
            told.asked.append(task)
            of = task["task_instance"]
            path = f"dags/{of['dag_id']}/dagRuns/{of['dag_run_id']}/taskInstances/approve/-1"
            chosen = {"chosen_options": [option], "params_input": {}}
            told.taken.append(api.patch(f"{path}/hitlDetails", json=chosen).status_code)
            if told.taken[-1] != 200:
                answer("Reject")  # so that the run comes to its end

        meanwhile(do)
        return told

    return answer


def test_what_is_refused_is_not_done(shop, answer, caplog):
    told = answer("Reject")
    assert shop.trigger("erase", **ERASE) == {
        "preview": "success", "approve": "success", "erase": "skipped", **NOT_DONE
    }  # fmt: skip
    assert "Refused, so nothing is done, by ann" in caplog.messages
    (task,) = told.asked
    assert task["subject"] == "erase__shop: is this to be done?"
    assert "* public.item: 1 key with 1 version, 1 of them current" in task["body"]
    assert task["body"].startswith("dag_test wants this to be done:")
    assert (shop.history(), shop.publications.last_number()) == (WHOLE, 1)


def test_who_is_told_of_alerts_is_told_what_waits_for_an_approval_and_where(shop):
    (post,) = shop.hook.posts
    assert post["title"] == "Strandline: erase__shop waits for an approval"
    assert "public.item: 1 key with 1 version, 1 of them current" in post["text"]
    assert post["text"].endswith("Without an answer within 1d it is not.")
    assert post["url"].startswith("https://airflow.example.com/dags/erase__shop/runs/manual__")


def test_only_who_is_named_may_answer(shop, answer):
    told = answer("Approve", by=("vic", "v"))
    assert shop.trigger("erase", **ERASE)["plan"] == "skipped"
    assert told.taken == [403, 200]


def test_what_nobody_answers_in_time_is_not_done_and_the_run_has_failed(shop, meanwhile, capfd):
    shop.path.write_text(shop.path.read_text().replace("swap = true", 'swap = true\nwithin = "1s"'))
    scheduler = SchedulerJobRunner(Job())
    meanwhile(scheduler.check_awaiting_input_timeouts)
    states = shop.trigger("erase", **ERASE)
    shop.path.write_text(shop.path.read_text().replace('within = "1s"\n', ""))
    assert (states["approve"], states["plan"]) == ("failed", "upstream_failed")
    assert "nobody has answered within 1s, so nothing was done" in capfd.readouterr().out
    assert (shop.history(), shop.publications.last_number()) == (WHOLE, 1)


def test_a_dry_run_asks_nobody(shop):
    states = shop.trigger("erase", **{**ERASE, "dry_run": True})
    assert set(states.values()) == {"skipped"}


def test_a_replay_that_only_compares_asks_nobody_and_one_that_swaps_does(shop, answer):
    compared = shop.trigger("replay", dry_run=False)
    assert compared.pop("approve") == "skipped"
    assert set(compared.values()) == {"success"}
    told = answer("Approve")
    swapped = shop.trigger("replay", swap=True, dry_run=False)
    assert set(swapped.values()) == {"success"}
    assert "it then takes the place of the table" in told.asked[0]["body"]


def test_what_is_no_longer_what_was_approved_is_not_done(shop, answer, capfd):
    told = answer("Approve", before=lambda: renamed(shop))
    states = shop.trigger("erase", **ERASE)
    assert (told.taken, states["plan"]) == ([200], "failed")
    said = "what was approved is not what would be done by now (public.item: 1 key with 2 versions"
    assert said in capfd.readouterr().out


def renamed(shop):
    """The row of key 1 is changed, and the change is published."""
    shop.stream.change("u", 1, 100, name="bob")
    shop.land()
    assert set(shop.trigger("compact").values()) == {"success"}


def test_what_is_approved_is_done(shop, answer):
    told = answer("Approve")
    assert set(shop.trigger("erase", **ERASE).values()) == {"success"}
    assert told.taken == [200]
    assert shop.history() == ["2: ada"]
