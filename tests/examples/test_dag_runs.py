"""The process that runs DAGs, and that nothing of it is left, however it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from examples.dag_runs import DagRunError, DagRuns
from examples.stage import Stage

PROJECT = Path(__file__).parents[2]
DAG = """\
import os
import subprocess
from airflow.sdk import dag, task

@dag(dag_id="example", schedule=None)
def example():
    @task
    def wait():
        # A group of its own, as Airflow's workers have, and deaf to everything but a kill.
        deaf = subprocess.Popen(
            ["sh", "-c", "trap '' INT TERM; while :; do sleep 100; done"], process_group=0
        )
        print(f"pid={deaf.pid}", flush=True, file=open(os.environ["TOLD"], "w"))
        deaf.wait()

    @task
    def fail():
        raise RuntimeError("no")

    what = os.environ["WHAT"]
    wait() if what == "wait" else fail()

example()
"""
PROGRAM = """\
import json, signal, sys
from pathlib import Path
from examples.dag_runs import DagRuns

signal.signal(signal.SIGTERM, signal.default_int_handler)
signal.signal(signal.SIGINT, signal.default_int_handler)
with DagRuns(json.loads(sys.argv[1]), Path(sys.argv[2])) as runs:
    runs.ready()
    runs.run("example", lambda _: None)
"""


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "example.py").write_text(DAG)
    return Stage(tmp_path).environment(tmp_path / "airflow", {}) | {
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "WHAT": "fail",
    }


def test_a_failed_task_is_named_with_the_log_to_read(environment, tmp_path):
    log = tmp_path / "airflow.log"
    with DagRuns(environment, log) as runs:
        assert runs.ready() == ["example"]
        with pytest.raises(DagRunError, match=r"example: task fail failed; its log is in .*\.log"):
            runs.run("example", lambda _: None)

    assert "RuntimeError: no" in log.read_text()


def test_a_broken_dag_file_is_an_error_with_its_reason(environment, tmp_path):
    (tmp_path / "dags" / "broken.py").write_text("from airflow.sdk import dag\n1 / 0\n")

    with (
        DagRuns(environment, tmp_path / "airflow.log") as runs,
        pytest.raises(DagRunError, match="ZeroDivisionError"),
    ):
        runs.ready()


_SIGINT = pytest.param(signal.SIGINT, marks=pytest.mark.heavy)


@pytest.mark.parametrize("number", [_SIGINT, signal.SIGKILL])
def test_nothing_is_left_running_after_a_signal(environment, tmp_path, number):
    told = tmp_path / "told"
    os.mkfifo(told)
    settings = environment | {"WHAT": "wait", "TOLD": str(told)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(settings), tmp_path / "log"],
        cwd=PROJECT,
        stderr=subprocess.DEVNULL,
    ) as demo:
        deaf = psutil.Process(int(told.read_text().removeprefix("pid=")))
        family = [*psutil.Process(demo.pid).children(recursive=True), deaf]
        demo.send_signal(number)
        demo.wait()

    _, alive = psutil.wait_procs(family, timeout=120)
    assert alive == []
