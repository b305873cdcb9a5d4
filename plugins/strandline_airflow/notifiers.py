"""Who is told, and how: any Airflow notifier that a source file or the environment names.

The templates of a notifier know the message as `strandline` (`{{ strandline.title }}`, and `text`,
`html`, `url`, `alerts`): its own fields are in their context too, and win. Its parameters that are
plainly meant for a message are filled in where nobody gave them, so `to = "ops@example.com"` is all
that a mail needs.

What a notifier raises is never handed on, neither its text nor as a cause: addresses and headers
may be secrets.
"""

import asyncio
import hashlib
import inspect
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow.sdk import BaseHook, BaseNotifier, Connection, conf
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.module_loading import import_string

from strandline.errors import SpecError, StrandlineError, Terminal, Transient
from strandline.sources import source as source_file
from strandline.sources.mistakes import Mistakes
from strandline.sources.section import Section
from strandline.sources.source import NotifierSpec, Source

log = logging.getLogger(__name__)

NOTIFIERS_VARIABLE = "STRANDLINE_NOTIFIERS"
PATIENCE_SECONDS = 10.0
_UNNAMED = ("self", "args", "kwargs")
_POSTED = ("title", "text", "url", "alerts")

# Parameters of notifiers (SMTP, Slack, Apprise, Teams …) that hold what is to be said.
_BOTH = "{{ strandline.title }}\n{{ strandline.text }}"
_FILLED = {
    "subject": "{{ strandline.title }}",
    "title": "{{ strandline.title }}",
    "html_content": "{{ strandline.html }}",
    "text": _BOTH,
    "message": _BOTH,
    "body": "{{ strandline.text }}",
}


@dataclass(frozen=True, slots=True)
class Message:
    """What is said at once. `alerts` are JSON objects, for whoever reads them by machine."""

    title: str
    text: str
    url: str
    alerts: tuple[Mapping[str, Any], ...] = ()

    @property
    def html(self) -> str:
        """The text with its lines as paragraphs, and its own addresses as links."""
        known = {self.url, *(alert.get("url") for alert in self.alerts)}
        lines = self.text.splitlines()
        if self.url not in lines:
            lines.append(self.url)
        written = (_link(line) if line in known else escape(line) for line in lines if line)
        return "".join(f"<p>{line}</p>" for line in written)

    def context(self) -> dict[str, Any]:
        """What the templates of a notifier know."""
        return {"strandline": {**asdict(self), "html": self.html}}


def _link(address: str) -> str:
    escaped = escape(address, quote=True)
    return f'<a href="{escaped}">{escaped}</a>'


def address(place: str) -> str:
    """The address of a place in this Airflow; "" where it does not know its own."""
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    return f"{base}/{place}" if base else ""


def configured(source: Source, environ: Mapping[str, str] = os.environ) -> tuple[NotifierSpec, ...]:
    """The notifiers of the source's file, else those of the environment for all sources."""
    return source.notifiers or of_environment(environ)


def of_environment(environ: Mapping[str, str] = os.environ) -> tuple[NotifierSpec, ...]:
    """The notifiers that the environment names; none where it names none."""
    text = environ.get(NOTIFIERS_VARIABLE)
    if not text:
        return ()
    mistakes = Mistakes(Path(NOTIFIERS_VARIABLE))
    try:
        found = tuple(map(source_file.notifier, _given(text, mistakes)))
        mistakes.tell()
    except SpecError as error:
        raise SpecError(
            f"{error}; it must be a JSON list of objects such as "
            '{"class": "airflow.providers.smtp.notifications.smtp.SmtpNotifier", '
            '"arguments": {"to": "ops@example.com"}}'
        ) from None
    return found


def _given(text: str, mistakes: Mistakes) -> Iterator[Section]:
    """What the environment says of each notifier; never repeated, as it may hold secrets."""
    where = mistakes.path
    try:
        given = json.loads(text)
    except ValueError as error:
        raise SpecError(f"{where}: no JSON: {error}") from None
    except RecursionError:
        raise SpecError(f"{where}: no JSON: nested too deeply") from None
    if not isinstance(given, list):
        raise SpecError(f"{where}: no list")
    for number, values in enumerate(given, 1):
        if isinstance(values, dict):
            yield Section(mistakes, f"notifier {number}", values)
        else:
            mistakes.note(f"notifier {number} is no object")


def identity(spec: NotifierSpec) -> str:
    """What tells a notifier from another of its class; it holds nothing of the arguments."""
    arguments = json.dumps(dict(spec.arguments), sort_keys=True, default=str)
    return f"{spec.path}#{hashlib.sha256(arguments.encode()).hexdigest()[:12]}"


def send(spec: NotifierSpec, message: Message) -> None:
    """Tells it. Raises `Terminal` where the notifier cannot be made, `Transient` where it fails."""
    notifier = _made(spec)
    try:
        notifier.notify(_rendered(notifier, message))
    except StrandlineError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it may hold a secret
        raise _failed(spec, error) from None


async def send_from_trigger(spec: NotifierSpec, message: Message) -> None:
    """Tells it from the triggerer, where nothing may block."""
    notifier = _made(spec)
    try:
        if type(notifier).async_notify is BaseNotifier.async_notify:
            await asyncio.to_thread(notifier.notify, _rendered(notifier, message))
        else:
            await notifier.async_notify(_rendered(notifier, message))
    except StrandlineError:
        raise
    except Exception as error:  # noqa: BLE001 - see `send`
        raise _failed(spec, error) from None


def send_to_all(specs: Sequence[NotifierSpec], message: Message) -> list[StrandlineError]:
    """Tells each, whatever becomes of the others; what went wrong, which is logged as well."""
    failed = []
    for spec in specs:
        try:
            send(spec, message)
        except StrandlineError as error:
            failed.append(error)
    _log(specs, message, failed)
    return failed


async def send_to_all_from_trigger(
    specs: Sequence[NotifierSpec], message: Message
) -> list[StrandlineError]:
    """Tells each from the triggerer, as `send_to_all` does elsewhere."""
    failed = []
    for spec in specs:
        try:
            await send_from_trigger(spec, message)
        except StrandlineError as error:
            failed.append(error)
    _log(specs, message, failed)
    return failed


def _log(
    specs: Sequence[NotifierSpec], message: Message, failed: Iterable[StrandlineError]
) -> None:
    if not specs:
        log.warning("No notifier is named for it: %s: %s", message.title, message.text)
    for error in failed:
        log.error("Not told: %s: %s", message.title, error)


def _rendered(notifier: BaseNotifier, message: Message) -> Any:
    """The context of a notifier, whose own fields are filled in from it.

    What `BaseNotifier` does when it is called. But that logs the text of what goes wrong.
    """
    own = {name: getattr(notifier, name) for name in notifier.template_fields}
    context: Any = {**message.context(), **own}
    notifier.render_template_fields(context)
    return context


def _failed(spec: NotifierSpec, error: Exception) -> Transient:
    return Transient(
        f"notifier {spec.path} failed with {type(error).__name__}: check its connection, and that "
        "this process may reach what it names"
    )


def _made(spec: NotifierSpec) -> BaseNotifier:
    try:
        kind = import_string(spec.path)
    except Exception as error:  # what a module does when it is imported is its own affair
        raise Terminal(
            f"notifier {spec.path} cannot be imported ({error}): install its provider where "
            "Airflow's workers and triggerer run, or correct 'class'"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, BaseNotifier)):
        raise Terminal(f"{spec.path} is no Airflow notifier: 'class' has to name one")
    known = inspect.signature(kind.__init__).parameters
    filled = {name: text for name, text in _FILLED.items() if name in known}
    try:
        return kind(**{**filled, **spec.arguments})
    except Exception as error:  # noqa: BLE001 - see `send`
        names = ", ".join(spec.arguments) or "none"
        raise Terminal(
            f"notifier {spec.path} refuses its 'arguments' ({names}) with {type(error).__name__}; "
            f"it takes {', '.join(name for name in known if name not in _UNNAMED)}"
        ) from None


def _url(connection: Connection) -> str:
    """The address of a connection: its host, with its port unless one stands there."""
    host = connection.host or ""
    url = urlsplit(host if "://" in host else f"{connection.schema or 'https'}://{host}")
    if connection.port and url.port is None:
        url = url._replace(netloc=f"{url.netloc}:{connection.port}")
    return url.geturl()


class WebhookNotifier(BaseNotifier):
    """Posts the message as JSON to the address of an Airflow connection of type http.

    `{"title", "text", "url", "alerts"}`. The connection's host and port are the address, its
    password is sent as bearer token, its extra as headers. Raises `Transient` where it is not
    taken, without the address: it may be a secret.
    """

    template_fields: Sequence[str] = ()

    def __init__(self, http_conn_id: str = "http_default", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.http_conn_id = http_conn_id

    def notify(self, context: Any) -> None:
        """Posts it."""
        import httpx  # noqa: PLC0415 - not while DAGs are parsed

        try:
            connection = BaseHook.get_connection(self.http_conn_id)
            with httpx.Client(timeout=PATIENCE_SECONDS) as client:
                answer = client.post(**self._request(connection, context))
        except (AirflowNotFoundException, httpx.HTTPError) as error:
            raise self._refused(error) from None
        self._check(answer.status_code)

    async def async_notify(self, context: Any) -> None:
        """Posts it from the triggerer."""
        import httpx  # noqa: PLC0415 - see `notify`

        try:
            connection = await BaseHook.aget_connection(self.http_conn_id)
            async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as client:
                answer = await client.post(**self._request(connection, context))
        except (AirflowNotFoundException, httpx.HTTPError) as error:
            raise self._refused(error) from None
        self._check(answer.status_code)

    def _request(self, connection: Connection, context: Mapping[str, Any]) -> dict[str, Any]:
        token = {"Authorization": f"Bearer {connection.password}"} if connection.password else {}
        return {
            "url": _url(connection),
            "headers": {**connection.extra_dejson, **token},
            "json": {name: context["strandline"][name] for name in _POSTED},
        }

    def _check(self, status: int) -> None:
        if status >= 300:
            raise Transient(
                f"the webhook of Airflow connection '{self.http_conn_id}' answered {status}: check "
                "its host, and its password (sent as bearer token)"
            )

    def _refused(self, error: Exception) -> StrandlineError:
        if isinstance(error, AirflowNotFoundException):
            return Terminal(
                f"there is no Airflow connection '{self.http_conn_id}': create it with type http "
                "and the webhook's address as host"
            )
        return Transient(
            f"the webhook of Airflow connection '{self.http_conn_id}' cannot be reached "
            f"({type(error).__name__}): check its host, and that this worker may reach it"
        )
