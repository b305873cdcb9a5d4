"""How a view becomes a page: its template, the words in it, and the headers beside it."""

from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from strandline.sources import duration
from strandline.timelines import picture, words
from strandline.timelines.timeline import Opened
from strandline_airflow.page.findings import changes

_TEMPLATES = Path(__file__).with_name("templates")
_SCRIPT = (_TEMPLATES / "frame.js").read_text()
_DIGEST = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
HEADERS = {
    # No script but its own, nothing from elsewhere, and nobody else's frame around it.
    "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{_DIGEST}'; "
    "style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; frame-ancestors 'self'; base-uri 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


def address(view: str, **query: object) -> str:
    """The relative address of a view."""
    given = {name: value for name, value in query.items() if value not in {None, ""}}
    return f"{view}?{urlencode(given)}" if given else view


def moment(time: datetime | None) -> str:
    return "" if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def _clock(time: str) -> str:
    """An instant of a history, as it is printed there, for a reader."""
    return time.replace("T", " ").removesuffix("Z").removesuffix(".000000")


def _instant(time: datetime) -> str:
    """The same to the microsecond, where there are any."""
    return f"{moment(time)}.{time:%f}".removesuffix(".000000")


_templates = Environment(
    loader=FileSystemLoader(_TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,  # of a page that is being upgraded, code and templates belong together
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(
    address=address,
    across=changes.reaches_others,
    clock=_clock,
    closing=words.closing,
    happened=words.happened,
    began=words.began,
    opening=words.opening,
    spelled=words.spelled,
    not_sent=words.NOT_SENT,
    draw=picture.draw,
    duration=duration.shown,
    moment=moment,
    instant=_instant,
    opened=tuple(Opened),
    time=datetime.fromisoformat,
    script=Markup(_SCRIPT),  # noqa: S704 - a file of ours
)


def shown(view: str, status: int = 200, **what: Any) -> Response:
    html = _templates.get_template(f"{view}.html.j2").render(**what)
    return HTMLResponse(html, status, HEADERS)
