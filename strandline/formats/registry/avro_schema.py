"""What an Avro schema means in Connect: the schema that Connect wrote it for, and its values.

Confluent's and Apicurio's converters keep what Avro has no word for in properties: `connect.name`,
`connect.type`, `connect.parameters`, `connect.version`, `connect.default`. Schemas of other origin
say by logical types what their values mean. Values become what JsonConverter prints of them.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from strandline.cells import java
from strandline.errors import UndecodableError

Convert = Callable[[Any], Any]

DEFAULT, LOGICAL = "strandline.default", "strandline.logicalType"  # kept from the Avro library
_CONFLUENT = "io.confluent.connect.avro."
_ANONYMOUS = _CONFLUENT + "ConnectDefault"  # what a struct without a name is called
_UNION = _CONFLUENT + "Union"
_ENTRY = "MapEntry"
_CONNECT = "org.apache.kafka.connect.data."
_TIME = "io.debezium.time."
_DECIMAL = _CONNECT + "Decimal"
_UNSAID = 64  # what converters write as the precision of a decimal that declares none
_TYPES = {
    "boolean": "boolean", "int": "int32", "long": "int64", "float": "float", "double": "double",
    "string": "string", "bytes": "bytes", "fixed": "bytes", "enum": "string",
}  # fmt: skip
_LOGICAL = {
    "date": _CONNECT + "Date",
    "time-millis": _CONNECT + "Time",
    "time-micros": _TIME + "MicroTime",
    "timestamp-millis": _CONNECT + "Timestamp",
    "timestamp-micros": _TIME + "MicroTimestamp",
    "timestamp-nanos": _TIME + "NanoTimestamp",
    "local-timestamp-millis": _TIME + "Timestamp",
    "local-timestamp-micros": _TIME + "MicroTimestamp",
    "local-timestamp-nanos": _TIME + "NanoTimestamp",
}
_MOST = 20_000  # parts of a schema whose named types are written out
_ALIKE = ({"int", "long"}, {"float", "double"})  # whose values do not show which they are


@dataclass(frozen=True, slots=True)
class Meaning:
    """A Connect schema as JsonConverter embeds it, and how a value becomes the one in its JSON.

    `convert` None: it is one already.
    """

    schema: Mapping[str, Any]
    convert: Convert | None


def meaning(parsed: Any, named: Mapping[str, Any]) -> Meaning:
    """That of a schema as the Avro library has parsed it; `named` are its types by full name.

    Raises `UndecodableError` where Connect has no such schema.
    """
    return _Reading(named).of(parsed)


def _unsupported(what: str) -> UndecodableError:
    return UndecodableError("unsupported_schema", f"the Avro schema {what}")


def _bodiless() -> UndecodableError:
    """A few bytes could hold any number of such values."""
    return _unsupported("has a type whose values take no bytes, which Connect has not")


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _of_named(inner: Convert | None) -> Convert:
    """Of a value that the library gives with the name of its type, to tell it from others."""
    if inner is None:
        return lambda value: value[1]
    return lambda value: inner(value[1])


def _of_record(converted: list[tuple[str, Convert]]) -> Convert | None:
    if not converted:
        return None

    def convert(record: dict[str, Any]) -> dict[str, Any]:
        for name, of in converted:
            cell = record[name]
            if cell is not None:
                record[name] = of(cell)
        return record

    return convert


def _of_items(inner: Convert | None) -> Convert | None:
    if inner is None:
        return None
    return lambda items: [None if each is None else inner(each) for each in items]


def _of_values(inner: Convert | None) -> Convert | None:
    if inner is None:
        return None
    return lambda of: {name: None if v is None else inner(v) for name, v in of.items()}


def _of_entries(entry: Convert | None) -> Convert:
    """A map whose keys are no texts is an array of pairs."""

    def convert(items: list[dict[str, Any]]) -> list[list[Any]]:
        whole = items if entry is None else map(entry, items)
        return [[each["key"], each["value"]] for each in whole]

    return convert


@dataclass(slots=True)
class _Reading:
    """One schema on its way; `above` are the records around the part at hand."""

    named: Mapping[str, Any]
    above: list[str] = field(default_factory=list)
    parts: int = 0

    def of(self, avro: Any, default: Any = None) -> Meaning:
        self.parts += 1
        if self.parts > _MOST:
            raise _unsupported(f"has more than {_MOST} parts")
        if isinstance(avro, list):
            return self._union(avro, default)
        if isinstance(avro, str) and avro in self.named:
            avro = self.named[avro]
        said = avro if isinstance(avro, dict) else {"type": avro}
        kind = said["type"]
        if isinstance(kind, dict | list):
            return self.of(kind, default)
        match kind:
            case "record" | "error":
                found = self._record(said)
            case "array":
                found = self._array(said)
            case "map":
                found = self._map(said)
            case _:
                found = _primitive(said, kind)
        return Meaning(_described(said, found, default), found.convert)

    def _union(self, branches: list[Any], default: Any) -> Meaning:
        """With null an optional value; of several types a struct with a field for each."""
        others = [each for each in branches if _kind(each) != "null"]
        optional = len(others) < len(branches)
        if len(others) == 1:
            first = default if branches[0] is others[0] else None  # the default is of the first
            inner = self.of(others[0], first)
            convert = _of_named(inner.convert) if self._is_named(others[0]) else inner.convert
            return Meaning({**inner.schema, "optional": optional}, convert)
        if not others:
            raise _bodiless()
        kinds = {self._base(each) for each in others}
        if any(pair <= kinds for pair in _ALIKE):
            raise _unsupported(f"has a union of {' and '.join(sorted(kinds))}")
        meant = [(self._branch(each), self.of(each)) for each in others]
        fields = [{**of.schema, "optional": True, "field": name} for (name, _), of in meant]
        schema = {"type": "struct", "fields": fields, "optional": optional, "name": _UNION}
        return Meaning(schema, _of_union([(*names, of.convert) for names, of in meant]))

    def _branch(self, avro: Any) -> tuple[str, str]:
        """What a branch is called in Connect's struct, and its full name or type."""
        full = self._full_name(avro)
        return (full.rpartition(".")[2], full) if full else (self._base(avro),) * 2

    def _full_name(self, avro: Any) -> str:
        if isinstance(avro, str):
            return avro if avro in self.named else ""
        return str(avro["name"]) if _kind(avro) in {"record", "error", "enum", "fixed"} else ""

    def _is_named(self, avro: Any) -> bool:
        return bool(self._full_name(avro))

    def _base(self, avro: Any) -> str:
        return _kind(self.named[avro] if isinstance(avro, str) and avro in self.named else avro)

    def _record(self, said: Mapping[str, Any]) -> Meaning:
        name = str(said["name"])
        if name in self.above:
            raise _unsupported(f"has the record {name} within itself")
        self.above.append(name)
        meant = [(str(each["name"]), self._field(each)) for each in said["fields"]]
        self.above.pop()
        converted = [(each, of.convert) for each, of in meant if of.convert is not None]
        fields = [{**of.schema, "field": each} for each, of in meant]
        if not fields:
            raise _bodiless()
        return Meaning({"type": "struct", "fields": fields}, _of_record(converted))

    def _field(self, said: Mapping[str, Any]) -> Meaning:
        return self.of(said["type"], said.get(DEFAULT))

    def _array(self, said: Mapping[str, Any]) -> Meaning:
        items = said["items"]
        entry = self.named.get(items, items) if isinstance(items, str) else items
        inner = self.of(items)
        if _is_entry(entry):
            key, value = inner.schema["fields"]
            schema = {"type": "map", "keys": key, "values": value}
            return Meaning(schema, _of_entries(inner.convert))
        return Meaning({"type": "array", "items": inner.schema}, _of_items(inner.convert))

    def _map(self, said: Mapping[str, Any]) -> Meaning:
        inner = self.of(said["values"])
        keys = {"type": "string", "optional": False}
        schema = {"type": "map", "keys": keys, "values": inner.schema}
        return Meaning(schema, _of_values(inner.convert))


def _kind(avro: Any) -> str:
    if isinstance(avro, dict):
        return _kind(avro["type"])
    return avro if isinstance(avro, str) else "union"


def _is_entry(avro: Any) -> bool:
    """A record that stands for an entry of a map whose keys are no texts."""
    if not isinstance(avro, dict) or avro.get("type") != "record":
        return False
    if {each["name"] for each in avro["fields"]} != {"key", "value"}:
        return False
    simple = str(avro["name"]).rpartition(".")[2]
    return avro.get("connect.internal.type") == _ENTRY or simple == _ENTRY


def _of_union(branches: list[tuple[str, str, Convert | None]]) -> Convert:
    """A struct that has a value in the field of its type, and null in all others."""
    types: dict[str, type] = {
        "boolean": bool, "int": int, "long": int, "float": float, "double": float,
        "string": str, "bytes": bytes, "array": list, "map": dict,
    }  # fmt: skip
    by_type = {types[kind]: (name, of) for name, kind, of in branches if kind in types}
    by_name = {kind: (name, of) for name, kind, of in branches}
    names = [name for name, _, _ in branches]

    def convert(value: Any) -> dict[str, Any]:
        named = isinstance(value, tuple)
        name, of = by_name[value[0]] if named else by_type[type(value)]
        inner = value[1] if named else value
        return {**dict.fromkeys(names), name: inner if of is None else of(inner)}

    return convert


def _primitive(said: Mapping[str, Any], kind: str) -> Meaning:
    if kind == "null" or (kind == "fixed" and not said["size"]):
        raise _bodiless()
    if kind not in _TYPES:
        raise _unsupported(f"has the unknown type {kind}")
    own = said.get("connect.type")
    literal = own if kind == "int" and own in {"int8", "int16"} else _TYPES[kind]
    convert: Convert | None = None
    if kind in {"bytes", "fixed"}:
        convert = _base64
    elif kind in {"float", "double"}:
        convert = _single if kind == "float" else java.number
    return Meaning({"type": literal, **_semantics(said, kind)}, convert)


def _semantics(said: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What a logical type says, where no name of Connect's does."""
    logical = said.get(LOGICAL)
    if logical == "decimal" and kind in {"bytes", "fixed"}:
        precision = said.get("precision", _UNSAID)
        parameters = {"scale": str(said.get("scale", 0))}
        if precision != _UNSAID:
            parameters["connect.decimal.precision"] = str(precision)
        return {"name": _DECIMAL, "parameters": parameters}
    if kind in {"int", "long"} and logical in _LOGICAL:
        return {"name": _LOGICAL[logical]}
    return {"name": said["name"]} if kind == "enum" else {}


def _single(value: float) -> Any:
    """A float of 32 bits comes as one of 64, with digits that nobody sent."""
    return java.number(value, narrow=True)


def _described(said: Mapping[str, Any], found: Meaning, default: Any) -> dict[str, Any]:
    """The schema with what the converter has kept in Avro's properties."""
    schema = {**found.schema, "optional": False}
    name = said.get("connect.name") or (said["name"] if schema["type"] == "struct" else None)
    if name is not None and name != _ANONYMOUS:
        schema["name"] = name
    if "connect.version" in said:
        schema["version"] = said["connect.version"]
    parameters = said.get("connect.parameters")
    if isinstance(parameters, dict):
        schema["parameters"] = {**schema.get("parameters", {}), **parameters}
    default = said.get("connect.default") if default is None else default
    if default is not None:
        schema["default"] = _default(default, found.convert)
    return schema


def _default(default: Any, convert: Convert | None) -> Any:
    """As JsonConverter prints it; Avro writes bytes as a text with a letter for each."""
    if convert is _base64 and isinstance(default, str):
        return _base64(default.encode("latin-1", "replace"))
    if convert in {java.number, _single} and isinstance(default, int | float):
        return java.number(float(default), narrow=convert is _single)
    return default
