"""Airflow's API, for tests that use a running Airflow as its users do."""

import json
import random
import socket
import time
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

PATIENCE = 120  # seconds


def until(happened, patience=PATIENCE, between=0.05):
    """Waits for it, looking again after so many seconds; AssertionError where patience ends."""
    end = time.monotonic() + patience
    while not happened():
        assert time.monotonic() < end
        time.sleep(between)


def a_port():
    """A free port that no outgoing connection is given while Airflow starts, unlike port 0's."""
    for port in random.sample(range(10_000, 30_000), 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("none of 100 ports is free")


class Site:
    """The API behind the pages, as a user with a password."""

    def __init__(self, address, user, password):
        self._address = address
        self._opener = build_opener(ProxyHandler({}))
        self._headers = {"Content-Type": "application/json"}
        token = self.ask("auth/token", {"username": user, "password": password})["access_token"]
        self._headers["Authorization"] = f"Bearer {token}"

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        url = f"{self._address}/{path}"
        request = Request(url, data, self._headers, method=method)  # noqa: S310 - what was printed
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with self._opener.open(request, timeout=PATIENCE) as answer:
                    return json.load(answer)
            except HTTPError as error:
                # SQLite refuses a write while another lasts: whoever clicked clicks again.
                if error.code != HTTPStatus.INTERNAL_SERVER_ERROR or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def dags(self):
        return {dag["dag_id"] for dag in self.ask("api/v2/dags")["dags"]}

    def pause(self, dag):
        self.ask(f"api/v2/dags/{dag}", {"is_paused": True}, "PATCH")

    def run(self, dags, patience=PATIENCE):
        """Triggers each DAG with its parameters, and waits until all have ended; their states."""
        return self.wait([self.trigger(dag, conf) for dag, conf in dags], patience)

    def wait(self, runs, patience=PATIENCE):
        """Waits until all of these runs have ended; their states."""
        # An API server that is asked all the time leaves the tasks less of the machine.
        until(lambda: self._states(runs) <= {"success", "failed"}, patience, between=0.5)
        return self._states(runs)

    def _states(self, runs):
        return {self.ask(run)["state"] for run in runs}

    def trigger(self, dag, conf):
        """Triggers the DAG; where its run is to be asked for."""
        runs = f"api/v2/dags/{dag}/dagRuns"
        return f"{runs}/{self.ask(runs, {'logical_date': None, 'conf': conf})['dag_run_id']}"

    def runs(self, dag):
        """All runs of the DAG."""
        return self.ask(f"api/v2/dags/{dag}/dagRuns?limit=100")["dag_runs"]

    def tries(self, dag, task):
        """Every attempt at the task in all runs of the DAG, those that were passed over too."""
        each = f"api/v2/dags/{dag}/dagRuns/{{}}/taskInstances/{task}/tries"
        ids = [run["dag_run_id"] for run in self.runs(dag)]
        return [one for run in ids for one in self.ask(each.format(run))["task_instances"]]
