"""Kafka Connect's converters in a JVM of their own: JSON with schemas goes in, Avro comes out.

The Avro is what a connector with Apicurio's AvroConverter sends, whose AvroData is Confluent's.
`setup.sh registry` fetches it. The JVM listens on the loopback interface only.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from stages.registry_stage import Registry

from strandline.changes.record import Record
from strandline.formats.registry import framing
from strandline.formats.registry.schemas import Schemas, StoredSchema

LIBRARIES = Path(__file__).resolve().parents[2] / ".venv" / "avro-converter"
_DESCRIBED = b'{"schema":{'
IN_HEADERS = {"apicurio.registry.headers.enabled": "true"}
OF_4_BYTES = {
    "apicurio.registry.headers.enabled": "false",
    "apicurio.registry.use-id": "contentId",
    "apicurio.registry.id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler",
}
OF_8_BYTES = {"apicurio.registry.headers.enabled": "false"}
FRAMINGS = {"in headers": IN_HEADERS, "of 4 bytes": OF_4_BYTES, "of 8 bytes": OF_8_BYTES}


@dataclass
class Converter:
    """The converters of a topic's keys and values, and the schemas that they have used."""

    java: Any
    registry: Registry
    settings: Mapping[str, str]
    stored: dict[str, StoredSchema] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pairs = {part: self._pair(part) for part in (framing.KEY, framing.VALUE)}

    def records(self, of: Iterable[Record]) -> list[Record]:
        """The same records in Avro; what has no schema stays as it is."""
        return [self._record(each) for each in of]

    @property
    def schemas(self) -> Schemas:
        """The schemas of all records so far, as the registry has them."""
        return Schemas(self.stored)

    def _pair(self, part: str) -> tuple[Any, Any]:
        """What reads the JSON of keys or values, and what writes their Avro."""
        reading = self.java.org.apache.kafka.connect.json.JsonConverter()
        reading.configure(
            {"schemas.enable": "true", "replace.null.with.default": "false"}, part == framing.KEY
        )
        writing = self.java.io.apicurio.registry.utils.converter.AvroConverter()
        told = {
            "apicurio.registry.url": self.registry.native_url.replace("/v3", "/v2"),
            "apicurio.registry.auto-register": "true",
        }
        writing.configure({**told, **self.settings}, part == framing.KEY)
        return reading, writing

    def _record(self, of: Record) -> Record:
        headers = self.java.org.apache.kafka.common.header.internals.RecordHeaders()
        key, value = (
            self._written(of.at.topic, data, part, headers)
            for part, data in ((framing.KEY, of.key), (framing.VALUE, of.value))
        )
        told = tuple((each.key(), bytes(each.value())) for each in headers.toArray())
        found = replace(of, key=key, value=value, headers=of.headers + told)
        for part, before, data in ((framing.KEY, of.key, key), (framing.VALUE, of.value, value)):
            if data is not None and data is not before:
                self._keep(data, part, found)
        return found

    def _written(self, topic: str, data: bytes | None, part: str, headers: Any) -> bytes | None:
        if data is None or not data.startswith(_DESCRIBED):
            return data
        reading, writing = self._pairs[part]
        meant = reading.toConnectData(topic, data)
        return bytes(writing.fromConnectData(topic, headers, meant.schema(), meant.value()))

    def _keep(self, data: bytes, part: str, record: Record) -> None:
        """The schema by the id that these settings write, and by no other that its bytes may be."""
        for name in framing.framed(data, part, record.headers).ids:
            word, _, number = name.partition(":")
            if word == "confluent" or name in self.stored:
                continue
            text = self.registry.native(f"/ids/{word.removeprefix('apicurio-')}Ids/{number}")
            self.stored[name] = StoredSchema(name, text)


@contextmanager
def opened(registry: Registry) -> Iterator[Callable[[Mapping[str, str]], Converter]]:
    """What makes converters with such settings, for a registry that runs."""
    libraries = [str(each) for each in LIBRARIES.glob("*.jar")]
    if not libraries:
        raise FileNotFoundError(f"{LIBRARIES} has no converters: type sh setup.sh registry")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    port, process = launch_gateway(
        classpath=os.pathsep.join(libraries),
        java_path=java,
        javaopts=["-Xmx256m", "-XX:+UseSerialGC"],
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield partial(Converter, gateway.jvm, registry)
    finally:
        gateway.shutdown()  # after which Python tells it of no garbage
        process.kill()
        process.wait()
