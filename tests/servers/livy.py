"""A server that keeps the contract of Apache Livy's batches, and runs what it is sent.

The contract is https://livy.apache.org/docs/latest/rest-api.html: POST /batches (201), GET
/batches/ID, /batches/ID/state, /batches/ID/log, and DELETE /batches/ID. The applications are real,
run by the `spark-submit` of this environment on this machine, as Livy runs them on a cluster.
"""

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_BATCH = re.compile(r"/batches/(\d+)(/state|/log)?")

_SUBMIT = str(Path(sys.executable).with_name("spark-submit"))

# The fields of a batch, by the option of spark-submit that they become.
_OPTIONS = {"pyFiles": "--py-files", "jars": "--jars"}


@dataclass
class Batch:
    """An application that was submitted."""

    number: int
    asked: dict
    process: subprocess.Popen
    log: Path

    @property
    def state(self):
        code = self.process.poll()
        return "running" if code is None else "dead" if code else "success"

    def shown(self, what):
        if what == "/state":
            return {"id": self.number, "state": self.state}
        if what == "/log":
            lines = self.log.read_text().splitlines()
            return {"id": self.number, "from": 0, "total": len(lines), "log": lines}
        name = self.asked.get("name")
        told = {"appId": f"local-{self.number}", "appInfo": {}, "log": [], "name": name}
        return {"id": self.number, "state": self.state, **told}


class Livy:
    """The server, in a `with` block; `batches` has what it was sent."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.batches: list[Batch] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def connection(self):
        """The Airflow connection to it, as the text of its environment variable."""
        host, port = self._server.server_address
        return json.dumps({"conn_type": "livy", "host": f"http://{host}", "port": port})

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        for batch in self.batches:
            batch.process.kill()
            batch.process.wait()

    def submit(self, asked):
        number = len(self.batches)
        options = ["--master", "local[*]"]
        for field, option in _OPTIONS.items():
            if asked.get(field):
                options += [option, ",".join(asked[field])]
        for name, value in asked.get("conf", {}).items():
            options += ["--conf", f"{name}={value}"]
        log = self.folder / f"batch-{number}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [_SUBMIT, *options, asked["file"], *asked.get("args", [])],
                env={**os.environ, "PYSPARK_PYTHON": sys.executable, **self.environment},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        batch = Batch(number, asked, process, log)
        self.batches.append(batch)
        return batch

    def _handler(livy):  # noqa: N805 - `self` is the handler's below
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path != "/batches":
                    return self._answer(404, {"msg": "not found"})
                return self._answer(201, livy.submit(json.loads(body)).shown(None))

            def do_GET(self):
                found = self._found()
                if found is None:
                    return self._answer(404, {"msg": "not found"})
                return self._answer(200, found[0].shown(found[1]))

            def do_DELETE(self):
                found = self._found()
                if found is None:
                    return self._answer(404, {"msg": "not found"})
                found[0].process.kill()
                return self._answer(200, {"msg": "deleted"})

            def _found(self):
                match = _BATCH.fullmatch(self.path.partition("?")[0])
                with suppress(IndexError):
                    return match and (livy.batches[int(match[1])], match[2])
                return None

            def _answer(self, status, document):
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Silent: the tests look at what was sent."""

        return Handler
