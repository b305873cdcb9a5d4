"""Airflow's REST API, asked inside the API server with what the user's own request brought.

So a view shows what its user may see, and Airflow decides what that is. No connection is opened:
the server's application is called as it would be by a browser of the same user.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

import httpx
from anyio import from_thread
from fastapi import Depends, Request

from strandline_airflow.addresses import PREFIX

SERVER = "strandline.server"  # where `site` leaves Airflow's application in a request's scope
RUNS_SHOWN = 15
_CREDENTIALS = ("authorization", "cookie")
_PAGE = 100  # the most that Airflow gives at once

Run = Mapping[str, Any]


class Api:
    """What one request asks Airflow, each thing once."""

    def __init__(self, request: Request) -> None:
        scope = request.scope
        self._server: Callable[..., Awaitable[None]] = scope[SERVER]
        self._base = f"{scope['root_path'].removesuffix(PREFIX)}/api/v2"
        self._host = str(request.base_url.replace(path="/"))
        self._headers = {
            name: request.headers[name] for name in _CREDENTIALS if name in request.headers
        }
        self._answers: dict[str, httpx.Response] = {}

    def runs(self, dag: str) -> tuple[int, tuple[Run, ...]]:
        """The status of the answer, and the last runs of a DAG, the newest first.

        A run has `dag_id`, `run_id`, `state`, `start_date` and `end_date`.
        """
        answer = self._get(f"{_of(dag)}?order_by=-run_after&limit={RUNS_SHOWN}")
        found = answer.json()["dag_runs"] if answer.is_success else ()
        return answer.status_code, tuple(map(_run, found))

    def paused(self) -> frozenset[str]:
        """The DAGs of Strandline that are paused, as far as the user may see them."""
        found = self._every("dags?paused=true&exclude_stale=false&tags=strandline", "dags")
        return frozenset(each["dag_id"] for each in found or ())

    def pools(self) -> frozenset[str] | None:
        """The names of pools; None where the user may not see them."""
        found = self._every("pools?", "pools")
        return None if found is None else frozenset(each["name"] for each in found)

    def trigger(self, dag: str, conf: Mapping[str, Any]) -> tuple[int, str]:
        """Triggers a run: the status of the answer, and the run's id or why there is none."""
        answer = self._ask("POST", _of(dag), {"logical_date": None, "conf": dict(conf)})
        if answer.is_success:
            return answer.status_code, str(answer.json()["dag_run_id"])
        return answer.status_code, _said(answer)

    def _every(self, path: str, key: str) -> list[Mapping[str, Any]] | None:
        """All of a list that comes in pages; None where the user may not see it."""
        found: list[Mapping[str, Any]] = []
        while True:
            answer = self._get(f"{path}&limit={_PAGE}&offset={len(found)}")
            if answer.status_code == HTTPStatus.FORBIDDEN:
                return None
            answer.raise_for_status()
            page = answer.json()
            found += page[key]
            if not page[key] or len(found) >= page["total_entries"]:
                return found

    def _get(self, path: str) -> httpx.Response:
        if path not in self._answers:
            self._answers[path] = self._ask("GET", path)
        return self._answers[path]

    def _ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        return from_thread.run(self._asked, method, f"{self._base}/{path}", body)

    async def _asked(self, method: str, path: str, body: object) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._server)
        async with httpx.AsyncClient(
            transport=transport, base_url=self._host, headers=self._headers
        ) as client:
            return await client.request(method, path, json=body)


AskedApi = Annotated[Api, Depends(Api)]


def _of(dag: str) -> str:
    return f"dags/{quote(dag, safe='')}/dagRuns"


def _run(fields: Mapping[str, Any]) -> Run:
    times = {name: _time(fields[name]) for name in ("start_date", "end_date")}
    own = {"dag_id": fields["dag_id"], "run_id": fields["dag_run_id"], "state": fields["state"]}
    return {**own, **times}


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _said(answer: httpx.Response) -> str:
    """Why Airflow refused, in its own words."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.reason_phrase
