"""Avro in place of JSON: what AvroConverter writes where JsonConverter wrote a record with schemas.

Follows Confluent's AvroData: names and namespaces, null first in what is optional, decimals as
bytes with a logical type, and in `connect.*` what Avro has no word for.
"""

import io
import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import fastavro
from fastavro.validation import ValidationError, validate

from strandline.cells.spelling import Number
from strandline.changes.record import Record
from strandline.formats.registry.schemas import Schemas, StoredSchema

_PRIMITIVES = {
    "boolean": "boolean", "int8": "int", "int16": "int", "int32": "int", "int64": "long",
    "float": "float", "double": "double", "string": "string", "bytes": "bytes",
}  # fmt: skip
_LOGICAL = {"Date": "date", "Time": "time-millis", "Timestamp": "timestamp-millis"}
_CONNECT = "org.apache.kafka.connect.data."
_NAMESPACE = "io.confluent.connect.avro"


class NoAvroError(ValueError):
    """A document that no AvroConverter could have written."""


def confluent(number: int) -> tuple[str, bytes]:
    """The id and the first bytes of a schema's records, as Confluent's serializers have them."""
    return f"confluent:{number}", b"\0" + number.to_bytes(4)


def is_described(case: Any) -> bool:
    """Whether a case has JSON with embedded schemas, which alone can be said in Avro."""
    return any((record.value or b"").startswith(b'{"schema"') for record in case.records)


@dataclass
class Registry:
    """Schemas by the ids that they get here, one after the other; `frames` says which and how."""

    frames: Callable[[int], tuple[str, bytes]] = confluent
    stored: dict[str, tuple[StoredSchema, bytes]] = field(default_factory=dict)

    @property
    def schemas(self) -> Schemas:
        return Schemas.of(schema for schema, _ in self.stored.values())

    def framed(self, text: str) -> bytes:
        """What stands before the bytes of a datum with that schema."""
        if text not in self.stored:
            name, first = self.frames(len(self.stored) + 1)
            self.stored[text] = StoredSchema(name, text), first
        return self.stored[text][1]

    def avro(self, data: bytes | None) -> bytes | None:
        """A document with its schema as Avro; what has none, and what Avro cannot say, as it is."""
        try:
            document = json.loads(data or b"", parse_float=Number)
            if not isinstance(document, dict) or document.keys() != {"schema", "payload"}:
                return data
            return self._avro(document["schema"], document["payload"])
        except (ValueError, TypeError, KeyError, AttributeError, ValidationError):
            return data

    def _avro(self, schema: dict, payload: object) -> bytes:
        if payload is None:
            raise NoAvroError("a tombstone, which has no bytes")
        described = _Named().of(schema, "")
        text = json.dumps(described)
        parsed = fastavro.parse_schema(_bare(described))
        datum = _datum(schema, payload)
        validate(datum, parsed)
        written = io.BytesIO()
        fastavro.schemaless_writer(written, parsed, datum)
        return self.framed(text) + written.getvalue()

    def record(self, of: Record) -> Record:
        """A record whose key, value and headers are Avro."""
        headers = tuple((name, self.avro(data)) for name, data in of.headers)
        key, value = self.avro(of.key), self.avro(of.value)
        return replace(of, key=key, value=value, headers=headers)

    def records(self, of: Iterable[Record]) -> list[Record]:
        return [self.record(each) for each in of]


class _Named:
    """One schema on its way: a type that has been described is named after that."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, connect: dict, within: str) -> Any:
        kind = connect["type"]
        base: dict[str, Any]
        if kind == "struct":
            base = self._record(connect, within)
        elif kind == "array":
            base = {"type": "array", "items": self.of(connect["items"], within + ".items")}
        elif kind == "map" and connect["keys"] == {"type": "string", "optional": False}:
            base = {"type": "map", "values": self.of(connect["values"], within + ".values")}
        elif kind == "map":
            raise NoAvroError("see tests/core/formats/test_avro.py")
        else:
            base = {"type": _PRIMITIVES[kind]}
        described = base if isinstance(base, str) else self._with_properties(base, connect)
        if not connect.get("optional"):
            return described
        return [described, "null"] if connect.get("default") is not None else ["null", described]

    def _record(self, connect: dict, within: str) -> Any:
        name = connect.get("name") or f"{_NAMESPACE}{within or '.ConnectDefault'}"
        namespace, _, simple = _scrubbed(name).rpartition(".")
        content = json.dumps({**connect, "field": "", "optional": False})
        full = f"{namespace}.{simple}" if namespace else simple
        if self.known.get(full) == content:
            return full
        if full in self.known:
            raise NoAvroError(f"two types are called {full}")
        self.known[full] = content
        fields = [self._field(each, within) for each in connect["fields"]]
        found = {"type": "record", "name": simple, "fields": fields}
        return {**found, "namespace": namespace} if namespace else found

    def _field(self, connect: dict, within: str) -> dict[str, Any]:
        name = connect["field"]
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise NoAvroError(f"{name} is no name in Avro")
        found = {"name": name, "type": self.of(connect, f"{within}.{name}")}
        if connect.get("default") is not None:
            return {**found, "default": _default(connect)}
        return {**found, "default": None} if connect.get("optional") else found

    def _with_properties(self, base: dict[str, Any], connect: dict) -> dict[str, Any]:
        name, parameters = connect.get("name"), connect.get("parameters")
        if connect.get("version") is not None:
            base["connect.version"] = connect["version"]
        if parameters:
            base["connect.parameters"] = parameters
        if connect.get("default") is not None:
            base["connect.default"] = _default(connect)
        if name is not None:
            base["connect.name"] = name
        if connect["type"] in {"int8", "int16"}:
            base["connect.type"] = connect["type"]
        if name == _CONNECT + "Decimal":
            scale = int(parameters["scale"])
            precision = int(parameters.get("connect.decimal.precision", 64))
            base |= {"scale": scale, "precision": precision}
            if 0 <= scale <= precision or "connect.decimal.precision" in parameters:
                base["logicalType"] = "decimal"
        elif name and name.startswith(_CONNECT):
            base["logicalType"] = _LOGICAL[name.removeprefix(_CONNECT)]
        return base


def _scrubbed(name: str) -> str:
    parts = (re.sub("[^A-Za-z0-9_]", "_", part) for part in name.split("."))
    return ".".join(part if re.match("[A-Za-z_]", part) else f"x{part}" for part in parts)


def _default(connect: dict) -> Any:
    value = connect["default"]
    return b64decode(value).decode("latin-1") if connect["type"] == "bytes" else value


def _bare(avro: Any) -> Any:
    """Without what fastavro would act on: data here are what Connect's primitives are."""
    if isinstance(avro, list):
        return [_bare(each) for each in avro]
    if isinstance(avro, dict):
        left = {"logicalType", "default", "connect.parameters", "connect.default"}
        return {name: _bare(of) for name, of in avro.items() if name not in left}
    return avro


def _datum(connect: dict, value: Any) -> Any:
    if value is None:
        if not connect.get("optional"):
            raise NoAvroError("null, which the schema does not allow")
        return None
    match connect["type"]:
        case "struct":
            if value.keys() != {each["field"] for each in connect["fields"]}:
                raise NoAvroError("other fields than the schema has")
            return {each["field"]: _datum(each, value[each["field"]]) for each in connect["fields"]}
        case "array":
            return [_datum(connect["items"], each) for each in value]
        case "map":
            return {name: _datum(connect["values"], each) for name, each in value.items()}
        case "bytes":
            return b64decode(value, validate=True)
        case "float" | "double":
            return _float(value)
    return value


def _float(value: Number | int | str) -> float:
    """A number that Java has printed, or a text for what is not finite."""
    number = float(value)
    if isinstance(value, str):
        return number
    plain = not number or 1e-3 <= abs(number) < 1e7
    spelling = r"-?\d+\.\d+" if plain else r"-?\d\.\d+E-?\d+"
    if isinstance(value, int) or not re.fullmatch(spelling, value.text):
        raise NoAvroError("a number that JsonConverter would have spelled otherwise")
    return number
