"""A schema registry for the examples: files, by as much of Confluent's REST contract as is asked.

A real one is a server of its own, most of them in Java: too heavy for the first command of the
README. `make e2e` lands by a real one.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_HOST = "127.0.0.1"
_TYPE = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND = {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves the schemas of a folder (`17.avsc` has the id 17) on this machine; its address."""
    schemas = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.avsc")}
    with ThreadingHTTPServer((_HOST, 0), _handler(schemas)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://{_HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _handler(schemas: Mapping[str, str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = _answer(schemas, self.path.partition("?")[0].strip("/").split("/"))
            body = json.dumps(_NOT_FOUND if answer is None else answer).encode()
            self.send_response(HTTPStatus.NOT_FOUND if answer is None else HTTPStatus.OK)
            self.send_header("Content-Type", _TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing: the terminal is the demo's."""

    return Handler


def _answer(schemas: Mapping[str, str], path: list[str]) -> Any:
    """What lies at a path; None: nothing does. Subjects are called as their records are."""
    match path:
        case ["schemas", "ids", number] if number in schemas:
            return {"schema": schemas[number]}
        case ["schemas", "ids", number, "versions"] if number in schemas:
            record = json.loads(schemas[number])
            subject = ".".join(filter(None, (record.get("namespace"), record["name"])))
            return [{"subject": subject, "version": 1}]
    return None
