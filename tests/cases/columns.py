"""Columns of a case's table: how a short type is spelt as a Connect schema, and a cell as JSON."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

PLACEHOLDER = "__debezium_unavailable_value"
UNSET = object()  # the cell `-`: the column was not sent at all

_CONNECT = "org.apache.kafka.connect.data."
_WIRE = {  # what Debezium's semantic types are on the wire
    "int32": ("time.Date", "time.Time", "time.Year"),
    "int64": (
        "time.MicroTime", "time.NanoTime", "time.Timestamp", "time.MicroTimestamp",
        "time.NanoTimestamp", "time.MicroDuration", "time.NanoDuration",
    ),
    "string": (
        "time.ZonedTimestamp", "time.ZonedTime", "time.Interval", "time.IsoDate", "time.IsoTime",
        "time.IsoTimestamp", "data.Enum", "data.EnumSet", "data.Json", "data.Xml", "data.Uuid",
        "data.Ltree",
    ),
    "bytes": ("data.Bits",),
    "struct": (
        "data.VariableScaleDecimal", "data.geometry.Point", "data.geometry.Geometry",
        "data.geometry.Circle", "data.geometry.Line",
    ),
}  # fmt: skip
_SEMANTIC = {
    name.rpartition(".")[2]: {"type": wire, "name": f"io.debezium.{name}", "version": 1}
    for wire, names in _WIRE.items()
    for name in names
}
_STRUCTS = {
    "VariableScaleDecimal": {"scale": "int32", "value": "bytes"},
    "Point": {"x": "double", "y": "double", "wkb": "bytes", "srid": "int32"},
    "Geometry": {"wkb": "bytes", "srid": "int32"},
    "Circle": {"center": "Point", "radius": "double"},
    "Line": {"a": "double", "b": "double", "c": "double"},
}


@dataclass(frozen=True)
class Column:
    """`name type`, whether it is in the message key and in the row, its schema's default."""

    name: str
    type: str
    key: bool = False
    row: bool = True
    default: str | None = None

    @property
    def field(self) -> dict:
        """The column's field in an embedded schema, as JsonConverter prints it."""
        described = {**_described(self.type), "optional": not self.key, "field": self.name}
        return described if self.default is None else {**described, "default": self.default}

    def cell(self, text: str, placeholder: str) -> object:
        """The JSON value of a cell: `null`, `?` not available, `-` not sent, else a literal."""
        of = _described(self.type)
        if text in {"null", "-"}:
            return None if text == "null" else UNSET
        if text == "?":
            coded = base64.b64encode(placeholder.encode()).decode()
            return coded if of["type"] == "bytes" else placeholder
        if text.startswith('"'):
            return json.loads(text)
        if of.get("name") == f"{_CONNECT}Decimal":
            return _unscaled(text, int(of["parameters"]["scale"]))
        return text if of["type"] in {"string", "bytes"} else json.loads(text)


def columns(text: str) -> tuple[Column, ...]:
    """`id int32 key, shard string key only, price decimal(10,2), name string default=x`."""
    return tuple(_column(part.split()) for part in re.split(r",(?![^(]*\))", text))


def _column(words: Sequence[str]) -> Column:
    name, *rest = words
    default = next((w.removeprefix("default=") for w in rest if w.startswith("default=")), None)
    type_words = [w for w in rest if w not in {"key", "only"} and not w.startswith("default=")]
    return Column(name, " ".join(type_words), "key" in rest, "only" not in rest, default)


def _described(text: str) -> dict:
    """The schema of a type: a Connect primitive, `decimal(p,s)`, `Bits(n)`, a semantic type."""
    word, _, numbers = text.rstrip(")").partition("(")
    if word == "decimal":
        precision, scale = numbers.split(",")
        parameters = {"scale": scale.strip(), "connect.decimal.precision": precision}
        return {"type": "bytes", "name": f"{_CONNECT}Decimal", "parameters": parameters}
    if text == "bigint unsigned":
        named = {"__debezium.source.column.type": "BIGINT UNSIGNED"}
        return {"type": "int64", "parameters": named}
    if word.startswith("connect."):
        wire = "int64" if word == "connect.Timestamp" else "int32"
        return {"type": wire, "name": _CONNECT + word.removeprefix("connect."), "version": 1}
    if word in _STRUCTS:
        inner = [{**_described(of), "field": name} for name, of in _STRUCTS[word].items()]
        return {**_SEMANTIC[word], "fields": inner}
    if word in _SEMANTIC:
        length = {"parameters": {"length": numbers}} if numbers else {}
        return {**_SEMANTIC[word], **length}
    if word == "array":
        return {"type": "array", "items": {"type": numbers, "optional": True}}
    return {"type": text}


def _unscaled(text: str, scale: int) -> str:
    """A decimal as Connect writes it: base64 of the big-endian two's complement of its digits."""
    whole, _, fraction = text.partition(".")
    number = int(whole + fraction.ljust(scale, "0"))
    size = number.bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()
