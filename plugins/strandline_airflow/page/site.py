"""The page as an ASGI application that is imported when somebody opens it.

Airflow loads its plugins in every process, workers and the DAG processor too: they are not to pay
for a page that only the API server shows.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

_Message = MutableMapping[str, Any]


async def site(
    scope: _Message,
    receive: Callable[[], Awaitable[_Message]],
    send: Callable[[_Message], Awaitable[None]],
) -> None:
    """Answers one request."""
    from strandline_airflow.page.api import SERVER  # noqa: PLC0415 - see above
    from strandline_airflow.page.app import app  # noqa: PLC0415

    await app({**scope, SERVER: scope["app"]}, receive, send)
