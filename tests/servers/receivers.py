"""Servers that keep what they are sent: of mail, of the web, of StatsD and of OpenTelemetry."""

import json
import re
import socket
import socketserver
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from http.server import BaseHTTPRequestHandler, HTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

MAIL = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
WEBHOOK = "strandline_airflow.notifiers.WebhookNotifier"
# Sections of a source file, for the connections of the fixtures `mails` and `hook`.
TO_MAIL = f'[[notifier]]\nclass = "{MAIL}"\narguments = {{ to = "ops@example.com" }}\n'
TO_HOOK = f'[[notifier]]\nclass = "{WEBHOOK}"\narguments = {{ http_conn_id = "ops_hook" }}\n'


@contextmanager
def mail_server():
    """Its port, and the mails that came."""
    mails = []

    class Session(socketserver.StreamRequestHandler):
        def handle(self):
            self.wfile.write(b"220 test\r\n")
            for line in self.rfile:
                command = line.strip().upper()[:4]
                if command == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = iter(self.rfile.readline, b".\r\n")
                    mails.append(message_from_bytes(b"".join(lines), policy=default))
                self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 ok\r\n")
                if command == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server, _serving(server):
        yield server.server_address[1], mails


class Hook:
    """A webhook: `posts` has what was posted, `status` is what it answers; 0 is silence."""

    def __init__(self):
        self.posts, self.headers, self.status = [], [], 200
        self.released = threading.Event()


@contextmanager
def web_server():
    """Its port, and the hook."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not hook.status:
                hook.released.wait(30)
                return
            hook.headers.append(dict(self.headers))
            if hook.status < 300:
                hook.posts.append(body)
            self.send_response(hook.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server, _serving(server):
        yield server.server_address[1], hook
        hook.released.set()


@contextmanager
def _serving(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def connection(monkeypatch, name, **fields):
    """An Airflow connection of this name to this machine."""
    text = json.dumps({"host": "127.0.0.1", **fields})
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", text)


@dataclass(frozen=True)
class Metric:
    """A line of the StatsD protocol, with the tags that InfluxDB's form of it has."""

    name: str
    value: float
    kind: str
    tags: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def from_line(line):
        (place, value, kind) = re.fullmatch(
            r"([^:|]+):([^:|]+)\|([a-z]+)(?:\|@[0-9.]+)?", line
        ).groups()
        name, *tags = place.split(",")
        return Metric(name, float(value), kind, tuple(tuple(tag.split("=")) for tag in tags))


class StatsD:
    """A StatsD server that keeps what it is sent."""

    def __init__(self, receiver):
        self._receiver = receiver
        self.port = receiver.getsockname()[1]

    def gauges(self):
        """What has been sent since it was asked last: the gauges by name and tags."""
        found = {}
        while True:
            try:
                lines = self._receiver.recv(1 << 16).decode().splitlines()
            except BlockingIOError:
                return found
            for each in map(Metric.from_line, lines):
                if each.kind == "g":
                    found[each.name, each.tags] = each.value


@contextmanager
def statsd_server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)  # what is sent on this machine is there at once
        yield StatsD(receiver)


@contextmanager
def otlp_collector():
    """Its port, and the values of the gauges that came, by their names and attributes."""
    gauges = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent = ExportMetricsServiceRequest.FromString(body)
            for resource in sent.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        for point in metric.gauge.data_points:
                            tags = tuple((a.key, a.value.string_value) for a in point.attributes)
                            gauges[metric.name, tags] = getattr(point, point.WhichOneof("value"))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server, _serving(server):
        yield server.server_address[1], gauges
