"""An S3-compatible store in a process of its own: S3Proxy, on files, with conditional puts.

`setup.sh s3` fetches it. It listens on the loopback interface only.
"""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from server import listens, wait_until_ready

LIBRARIES = Path(__file__).resolve().parents[1] / ".venv" / "s3proxy"
BUCKET = "lake"
_START_SECONDS = 60
_PROPERTIES = """\
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=strandline
s3proxy.credential=not-a-secret
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={folder}
"""


@dataclass
class Store:
    """A running store; `environment` is what delta-rs needs to reach it."""

    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """Ends it, as a crash does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """A store with one empty bucket, whose objects are files in the folder."""
    if not any(LIBRARIES.glob("s3proxy-*.jar")):
        raise FileNotFoundError(f"{LIBRARIES} has no S3Proxy: type sh setup.sh s3")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    objects = folder / "objects"
    (objects / BUCKET).mkdir(parents=True)
    settings = folder / "s3proxy.conf"
    settings.write_text(_PROPERTIES.format(port=port, folder=objects))
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    main = ("org.gaul.s3proxy.Main", "--properties", str(settings))
    log = folder / "s3proxy.log"
    with log.open("wb") as told:
        command = [java, "-Xmx256m", "-cp", f"{LIBRARIES}/*", *main]
        process = subprocess.Popen(command, stdout=told, stderr=told)
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "strandline",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    store = Store(objects, environment, process)
    try:
        wait_until_ready(process, lambda: listens(port), log, _START_SECONDS)
        yield store
    finally:
        store.stop()
