"""A registry's addresses behind an Airflow connection: one after the other, again after a while.

The connection's `host` (with `schema` and `port`) is the address, or `urls` in its `extra` are.
`login` and `password` are sent as basic authentication, `token` of the extra as a bearer's. `ca` of
the extra is a file of certificates to trust, `certificate`, `key` and `key_password` are shown to a
registry that asks for one. None of it gets into a message, but for addresses.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from airflow.sdk import Connection
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt
from tenacity import wait_random_exponential as backoff

from strandline.errors import Terminal
from strandline.sources.registry import Registry
from strandline_airflow import connections, trust

_TELLING = 200  # letters of an answer that are repeated
_BUSY = frozenset({408, 425, 429})  # answers that another attempt may change, as those from 500 on
_LARGEST = 16 << 20  # bytes of an answer, unpacked
_LONGEST_WAIT = 10.0  # seconds between two attempts


class NoAnswerError(Exception):
    """No address has answered, or none in a way that says anything of the schema."""


class NotThereError(Exception):
    """The registry has answered, and not with what was asked for."""


class _AgainError(Exception):
    """Another attempt may do better."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A document."""

    text: str

    def document(self) -> Any:
        """The text as JSON; `NoAnswerError` where it is none: that was no registry."""
        try:
            return httpx.Response(200, text=self.text).json()
        except ValueError as error:
            raise NoAnswerError(
                "what answers there is no registry: its answer is no JSON"
            ) from error


class Client:
    """Asks the registry of a source, until it is closed.

    Raises `Terminal` where the connection is missing or cannot be used.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        options = "--conn-type http --conn-schema https --conn-host HOST"
        connection = connections.named(registry.connection, "[registry]", options)
        extra: dict[str, Any] = connection.extra_dejson
        self._urls = _urls(registry.connection, connection, extra)
        self._http = httpx.Client(
            auth=_basic(connection),
            headers=_bearer(registry.connection, extra),
            verify=trust.context(registry.connection, extra),
            timeout=registry.timeout.total_seconds(),
            follow_redirects=False,
        )

    def close(self) -> None:
        """Ends its connections."""
        self._http.close()

    def __str__(self) -> str:
        return (
            f"registry {', '.join(self._urls)} of Airflow connection '{self.registry.connection}'"
        )

    def get(self, path: str, **query: str) -> Answer:
        """What lies at a path. Raises `NotThereError` and `NoAnswerError`, with the reason."""
        attempts = Retrying(
            stop=stop_after_attempt(self.registry.retries + 1),
            wait=backoff(multiplier=0.2, max=_LONGEST_WAIT),
            retry=retry_if_exception_type(_AgainError),
            reraise=True,
        )
        try:
            return attempts(self._anywhere, path, query)
        except _AgainError as error:
            raise NoAnswerError(str(error)) from error

    def _anywhere(self, path: str, query: Mapping[str, str]) -> Answer:
        """The first answer that says something, of all addresses."""
        said: list[str] = []
        for url in self._urls:
            try:
                return self._at(url, path, query)
            except _AgainError as error:
                said.append(f"{url} {error}")
        raise _AgainError("; ".join(said))

    def _at(self, url: str, path: str, query: Mapping[str, str]) -> Answer:
        try:
            response = self._whole(f"{url}/{path}", query)
        except httpx.TimeoutException as error:
            raise _AgainError(self._late) from error
        except httpx.RequestError as error:
            raise _AgainError(f"cannot be reached ({error})") from error
        if response.is_success:
            return Answer(response.text)
        said = f"answered {response.status_code}: {_told(response)}"
        if response.is_server_error or response.status_code in _BUSY:
            raise _AgainError(said)
        raise NotThereError(f"{url} {said}")

    def _whole(self, address: str, query: Mapping[str, str]) -> httpx.Response:
        """The answer with all of its body, which neither grows nor drips without an end."""
        until, body = time.monotonic() + self.registry.timeout.total_seconds(), bytearray()
        with self._http.stream("GET", address, params=dict(query)) as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    raise NotThereError(f"{address} answered with more than {_LARGEST:,} bytes")
                if time.monotonic() > until:
                    raise _AgainError(self._late)
        return httpx.Response(response.status_code, content=bytes(body))

    @property
    def _late(self) -> str:
        return f"did not answer in {self.registry.timeout.total_seconds():g} s"


def _told(response: httpx.Response) -> str:
    """What the registry says went wrong, in one short line."""
    try:
        document = response.json()
    except ValueError:
        document = None
    named = document if isinstance(document, dict) else {}
    said = named.get("message") or named.get("title") or response.reason_phrase
    return " ".join(str(said).split())[:_TELLING]


def _urls(name: str, connection: Connection, extra: Mapping[str, Any]) -> tuple[str, ...]:
    """The addresses, without a slash at their end; `Terminal` where there is none."""
    given = extra.get("urls") or [_url(connection)]
    listed = [given] if isinstance(given, str) else given
    wrong = next((each for each in listed if not _is_url(each)), None)
    if not listed or wrong is not None:
        raise Terminal(
            f"Airflow connection '{name}' has no address of a registry: give it a host, or `urls` "
            'in its extra, such as ["https://one:8081", "https://two:8081"]; who logs in belongs '
            "into its login and password"
        )
    return tuple(str(each).rstrip("/") for each in listed)


def _url(connection: Connection) -> str:
    host = connection.host or ""
    if "://" in host:
        return host
    port = f":{connection.port}" if connection.port else ""
    return f"{connection.schema or 'http'}://{host}{port}"


def _is_url(text: object) -> bool:
    """An address; one with a name and password in it would get into messages."""
    try:
        url = httpx.URL(text) if isinstance(text, str) else None
    except httpx.InvalidURL:
        return False
    return (
        url is not None and url.scheme in {"http", "https"} and bool(url.host) and not url.userinfo
    )


def _basic(connection: Connection) -> httpx.BasicAuth | None:
    return (
        httpx.BasicAuth(connection.login, connection.password or "") if connection.login else None
    )


def _bearer(name: str, extra: Mapping[str, Any]) -> dict[str, str]:
    """The header; `Terminal` where it can have no such token: others would repeat that."""
    token = str(extra.get("token") or "").strip()  # a file that it is copied from ends its line
    if not (token.isascii() and token.isprintable()):
        raise Terminal(
            f"Airflow connection '{name}': the `token` of its extra has letters in it that no HTTP "
            "header may have, such as the end of a line: write it anew"
        )
    return {"Authorization": f"Bearer {token}"} if token else {}
