"""The one thing that the page does besides reading: it triggers `requeue__SOURCE`.

Airflow's own trigger form cannot be linked to with its fields filled in. So the page has a button
of its own, which takes the very permission that the form would: to trigger runs of that DAG.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException, Request

from strandline.errors import SpecError
from strandline_airflow.page.api import Api
from strandline_airflow.page.permission import may_trigger

log = logging.getLogger(__name__)


def may(user: Any, source: str) -> bool:
    """Whether the user may trigger the source's `requeue__SOURCE`."""
    return may_trigger(user, f"requeue__{source}")


def refuse_strangers(request: Request) -> None:
    """403 for a form that some other site has sent with the user's cookie.

    Browsers say where a request comes from. Who says nothing and brings a token of his own is no
    browser: no site can make him send it.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    elif origin is not None:
        own = urlsplit(origin).netloc == request.headers.get("host")
    else:
        own = "authorization" in request.headers
    if not own:
        raise HTTPException(403, "This came from another site: use the button on the page itself")


def requeue(user: Any, api: Api, source: str, conf: Mapping[str, Any]) -> str:
    """Triggers a run; its id. `SpecError` where the DAG is not there or cannot run."""
    dag = f"requeue__{source}"
    status, said = api.trigger(dag, conf)
    if status == HTTPStatus.FORBIDDEN:
        raise HTTPException(status, f"Your role may not trigger {dag}; ask whoever may")
    if status != HTTPStatus.OK:
        raise SpecError(f"{dag} cannot be triggered: {said}; look at its page in Airflow")
    log.info("%s triggered %s: %s", user.get_name(), said, conf)
    return said
