"""A Hive metastore in a process of its own: that which pyspark brings along, with its database.

It listens on the loopback interface only, and forgets all when it stops.
"""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from servers.server import listens, wait_until_ready
from strandline_airflow.metastore.client import Metastore

_JARS = Path(pyspark.__file__).parent / "jars"
_HOST = "127.0.0.1"
_START_SECONDS = 600
_MEMORY = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.metastore.thrift.bind.host": _HOST,
    "datanucleus.connectionPoolingType": "none",  # the others take libraries that pyspark lacks
    "hive.async.log.enabled": "false",  # as this does
}


@dataclass
class Hive:
    """A metastore on a port that stays its own while it is down."""

    folder: Path
    port: int
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """Where Spark and Trino find it."""
        return f"thrift://{_HOST}:{self.port}"

    def connection(self, **fields: object) -> str:
        """The Airflow connection, as the text of its environment variable."""
        own = {"conn_type": "generic", "host": _HOST, "port": self.port, "login": "strandline"}
        return json.dumps({**own, **fields})

    def start(self) -> None:
        """Starts it empty; TimeoutError where it does not answer."""
        settings = {
            **_SETTINGS,
            "hive.metastore.warehouse.dir": str(self.folder / "warehouse"),
            **self.settings,
        }
        written = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in settings.items()
        )
        (self.folder / "hive-site.xml").write_text(f"<configuration>{written}</configuration>")
        command = [
            _java(), *_MEMORY,
            f"-Dderby.stream.error.file={self.folder / 'derby.log'}",
            "-classpath", f"{self.folder}:{_JARS}/*",
            "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(self.port),
        ]  # fmt: skip
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        wait_until_ready(self.process, lambda: listens(self.port), self._log, _START_SECONDS)

    def stop(self) -> None:
        """Ends it, and what it knew."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def _log(self) -> Path:
        return self.folder / "metastore.log"


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


@contextmanager
def opened(folder: Path, **settings: str) -> Iterator[Hive]:
    """A metastore that runs; `settings` are Hive's, with `__` for a dot."""
    with socket.socket() as free:
        free.bind((_HOST, 0))
        port = free.getsockname()[1]
    hive = Hive(folder, port, {name.replace("__", "."): of for name, of in settings.items()})
    try:
        hive.start()
        yield hive
    finally:
        hive.stop()


def known(metastore: Metastore, database: str) -> dict[str, str]:
    """The entries of a database by name: the path of a table, the text of a view."""
    return {
        table.tableName: table.viewOriginalText or table.sd.serdeInfo.parameters["path"]
        for table in metastore.tables(database)
    }
