"""A proxy before an object store that refuses or holds requests, or hides new keys from listings.

`python -m servers.store_proxy STORE PORT` serves it, in a process of its own: delta-rs keeps Python
waiting while it asks a store. What it is to do is put to `/-/orders` as JSON; a GET of that is
answered as soon as a request is held.
"""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from urllib.parse import unquote, urlsplit

from servers.server import listens, wait_until_ready

ORDERS = "/-/orders"
_CODES = {400: "ExpiredToken", 403: "AccessDenied", 503: "SlowDown"}
_LISTED = re.compile(rb"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)
_OWN = {"connection", "transfer-encoding", "content-length", "keep-alive"}
_START_SECONDS = 60
_TESTS = Path(__file__).parents[1]


@dataclass
class Orders:
    """Requests of these methods whose path with its query has the pattern get `status`.

    `holds`: they wait until there are other orders, and are handed on then. `times`: so many of
    them; None: all. `lags`: listings have no key that is put from now on.
    """

    status: int | None = None
    methods: str = "GET PUT POST HEAD DELETE"
    pattern: str = ""
    times: int | None = None
    holds: bool = False
    lags: bool = False
    taken: int = 0

    def take(self, method: str, path: str) -> bool:
        """Whether this request is one of those that are refused or held."""
        if not (self.holds or self.status) or method not in self.methods:
            return False
        found = self.taken != self.times and re.search(self.pattern, path) is not None
        self.taken += found
        return found


@dataclass
class Proxy:
    """A running proxy at that port of this machine."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def failing(
        self,
        status: int,
        methods: str = Orders.methods,
        pattern: str = "",
        times: int | None = None,
    ) -> Iterator[None]:
        """Inside, such requests get the status; some did, or the test has shown nothing."""
        with self._told(Orders(status, methods, pattern, times)) as ended:
            yield
        assert ended()["taken"], "no request was refused"

    @contextmanager
    def holding(self, methods: str, pattern: str) -> Iterator[Callable[[], None]]:
        """Inside, the first such request waits; what is given returns when it does."""
        with self._told(Orders(methods=methods, pattern=pattern, times=1, holds=True)):
            yield lambda: self._ask("GET")

    @contextmanager
    def lagging(self) -> Iterator[None]:
        """Inside, listings have no key that is put from now on."""
        with self._told(Orders(lags=True)):
            yield

    @contextmanager
    def _told(self, orders: Orders):
        self._put(orders)
        ended = {}
        try:
            yield lambda: ended
        finally:
            ended.update(self._put(Orders()))

    def _put(self, orders: Orders) -> dict:
        """Gives orders; those of before, with what came of them."""
        return json.loads(self._ask("PUT", json.dumps(asdict(orders))))

    def _ask(self, method: str, body: str | None = None) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, ORDERS, body)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def opened(home: Path, store: int) -> Iterator[Proxy]:
    """A proxy before the store at that port of this machine; its log is in the folder."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    log = home / "proxy.log"
    with log.open("wb") as told:
        command = [sys.executable, "-m", "servers.store_proxy", str(store), str(port)]
        process = subprocess.Popen(command, cwd=_TESTS, stdout=told, stderr=told)
    try:
        wait_until_ready(process, lambda: listens(port), log, _START_SECONDS)
        yield Proxy(port)
    finally:
        process.kill()
        process.wait()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, store: int, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.store, self.orders, self.fresh = store, Orders(), set[str]()
        self.held, self.released = Event(), Event()

    def obey(self, orders: Orders) -> None:
        """Has other orders from now on."""
        self.released.set()
        self.orders, self.fresh = orders, set()
        self.held, self.released = Event(), Event()

    def hold(self) -> None:
        """Returns when there are other orders."""
        released = self.released
        self.held.set()
        released.wait()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        orders = self.server.orders
        if self.path == ORDERS:
            if body:
                self.server.obey(Orders(**json.loads(body)))
            else:
                self.server.held.wait()
            self._answer(200, [], json.dumps(asdict(orders)).encode())
            return
        taken = orders.take(self.command, self.path)
        if taken and orders.holds:
            self.server.hold()
        if taken and orders.status:
            code = _CODES[orders.status]
            text = f"<Error><Code>{code}</Code><Message>{code}, said the proxy</Message></Error>"
            self._answer(orders.status, [("Content-Type", "application/xml")], text.encode())
        else:
            self._hand_on(body)

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT  # noqa: N815 - named by http.server

    def _hand_on(self, body: bytes) -> None:
        store = HTTPConnection("127.0.0.1", self.server.store)
        try:
            headers = {name: value for name, value in self.headers.items() if name != "Expect"}
            store.request(self.command, self.path, body, headers)
            answer = store.getresponse()
            told, data = answer.getheaders(), answer.read()
        finally:
            store.close()
        if self.server.orders.lags:
            data = self._lagging(answer.status, data)
        self._answer(answer.status, told, None if self.command == "HEAD" else data)

    def _lagging(self, status: int, data: bytes) -> bytes:
        fresh = self.server.fresh
        if self.command == "PUT" and status == 200:
            fresh.add(unquote(urlsplit(self.path).path).split("/", 2)[2])
        if self.command == "GET" and b"<ListBucketResult" in data[:300]:
            return _LISTED.sub(
                lambda found: b"" if unquote(found[1].decode()) in fresh else found[0], data
            )
        return data

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes | None) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _OWN or (data is None and name.lower() == "content-length"):
                self.send_header(name, value)
        if data is not None and status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data and self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


if __name__ == "__main__":
    _Server(*map(int, sys.argv[1:])).serve_forever()
