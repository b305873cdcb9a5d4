"""An S3-compatible store in a process of its own: S3Proxy, on files, with conditional puts.

`setup.sh s3` fetches it. It listens on the loopback interface only. Of two puts of one key that may
not be there yet it refuses one (`tests/store/test_server.py`); it knows one user and no roles.
"""

import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from servers.server import listens, wait_until_ready

from strandline.alone.stores.tables import STORAGE_VARIABLE

_VENV = Path(__file__).resolve().parents[2] / ".venv"
LIBRARIES = _VENV / "s3proxy"
S3A = _VENV / "s3a"  # what Spark needs to read `s3a://`
# By which a commit of Spark's is refused where there is one of its number.
LOG_STORE = {"spark.delta.logStore.s3a.impl": "strandline.ConditionalLogStore"}
REGION = "us-east-1"
USER = "strandline"
# delta-rs asks a store for three minutes by default before it gives up.
HASTY = {"max_retries": "1", "backoff_config.init_backoff": "10ms"}
_START_SECONDS = 60
_PROPERTIES = """\
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={user}
s3proxy.credential={secret}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={objects}
"""


@dataclass
class Store:
    """A running store, whose `objects` are files of a folder; `secret` is its user's key."""

    home: Path
    port: int
    secret: str = "not-a-secret"  # noqa: S105 - nobody's
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / self.bucket).mkdir(parents=True, exist_ok=True)
        self._start()

    @property
    def bucket(self) -> str:
        """Its only bucket: no other store has one of this name, which Hadoop would take for it."""
        return f"lake-{self.port}"

    @property
    def folder(self) -> Path:
        """The folder with a folder for each bucket."""
        return self.home / "objects"

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that delta-rs needs to reach it."""
        return variables(self.endpoint, self.secret)

    def stop(self) -> None:
        """Ends it, as a crash does."""
        self.process.kill()
        self.process.wait()

    def change_key(self, secret: str) -> None:
        """Goes on with another key of its user: that of before is refused."""
        self.stop()
        self.secret = secret
        self._start()

    def _start(self) -> None:
        settings, log = self.home / "s3proxy.conf", self.home / "s3proxy.log"
        given = {"port": self.port, "user": USER, "secret": self.secret, "objects": self.folder}
        settings.write_text(_PROPERTIES.format(**given))
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home) / "bin" / "java") if home else "java"
        main = ("org.gaul.s3proxy.Main", "--properties", str(settings))
        with log.open("ab") as told:
            command = [java, "-Xmx256m", "-cp", f"{LIBRARIES}/*", *main]
            self.process = subprocess.Popen(command, stdout=told, stderr=told)
        wait_until_ready(self.process, lambda: listens(self.port), log, _START_SECONDS)


def variables(endpoint: str, secret: str) -> dict[str, str]:
    """The variables of the environment by which delta-rs reaches a store at that address."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": USER,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": REGION,
        "AWS_ALLOW_HTTP": "true",
    }


def of_delta_rs(environment: Mapping[str, str], **options: str) -> dict[str, str]:
    """The same for a process and all tasks that it has Spark do: as one variable."""
    given = {name.lower(): value for name, value in environment.items()} | options
    return {STORAGE_VARIABLE: json.dumps(given)}


def of_spark(endpoint: str) -> dict[str, str]:
    """Spark's settings for a store at that address; S3A finds the keys among the variables."""
    return {
        "spark.driver.extraClassPath": f"{S3A}/*",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


@contextmanager
def opened(home: Path) -> Iterator[Store]:
    """A store with one empty bucket, whose objects are files in the folder."""
    if not any(LIBRARIES.glob("s3proxy-*.jar")):
        raise FileNotFoundError(f"{LIBRARIES} has no S3Proxy: type sh setup.sh s3")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    store = Store(home, port)
    try:
        yield store
    finally:
        store.stop()
