"""What Connect's JsonConverter writes: `{"schema": …, "payload": …}`, or the payload alone."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strandline.cells import naming, values
from strandline.cells.types import ColumnType, from_connect
from strandline.errors import UndecodableError

WRAPPER = frozenset({"schema", "payload"})
_IMAGES = frozenset({"before", "after"})
# JSON can spell half of a pair of surrogates, which is no character: no text can hold it. Found by
# reading on from the beginning, whole pairs and other escapes by the way, in Spark as well.
LONE_SURROGATE = re.compile(
    r"\A(?:[^\\]++|\\(?:[^u]|u(?![dD][89a-fA-F]))"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+\\u[dD][89a-fA-F]"
)
# What Connect's SimpleHeaderConverter leaves as it is inside a text, though JSON does not.
UNESCAPED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
# Where these stand more than once, a part of the document may stand twice.
_PARTS = tuple(re.compile(part) for part in (r'"schema"\s*:\s*[{n]', r'"payload"\s*:'))


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed key, value or header; `schema` is None where none was embedded."""

    schema: Mapping[str, Any] | None
    payload: Any


def parse(data: bytes, what: str) -> Document:
    """Parses JSON bytes. Numbers stay exact: integers of any size, fractions as Decimal.

    `what` names the part in the error's detail ("value", "key", "header …").
    """
    text, document = _parsed(data, what)
    if not _is_wrapper(document):
        return Document(None, document)
    if any(len(part.findall(text)) > 1 for part in _PARTS) and _is_ambiguous(text):
        raise UndecodableError("invalid_json", f"the {what} has two schemas or payloads")
    return Document(document["schema"], document["payload"])


def parse_bare(data: bytes, what: str) -> Any:
    """The same of JSON that has its schema elsewhere."""
    return _parsed(data, what)[1]


def _parsed(data: bytes, what: str) -> tuple[str, Any]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UndecodableError("invalid_utf8", f"the {what} is not UTF-8") from error
    try:
        document = _EXACT.decode(text)
    except (ValueError, RecursionError) as error:
        raise UndecodableError("invalid_json", f"the {what} is not JSON") from error
    if "\\u" in text and LONE_SURROGATE.search(text):  # the word alone is found much faster
        raise UndecodableError("invalid_utf8", f"the {what} holds half of a character")
    return text, document


def parse_header(data: bytes, what: str) -> Document:
    """The same of a header, whose texts may break lines as they are.

    See docs/facts/envelopes.md, "Headers of a key move".
    """
    try:
        return parse(data, what)
    except UndecodableError:
        for letter, escaped in UNESCAPED.items():
            data = data.replace(letter.encode(), escaped.encode())
        return parse(data, what)


def _is_wrapper(document: object) -> bool:
    """Two fields and no more: a row that was flattened may have columns of these names."""
    return (
        isinstance(document, dict)
        and document.keys() == WRAPPER
        and isinstance(document["schema"], dict | None)
    )


def _is_ambiguous(text: str) -> bool:
    """Whether the schema or the payload stands twice; any other field counts by its last."""
    names: list[str] = json.loads(text, object_pairs_hook=lambda of: [name for name, _ in of])
    return names.count("schema") > 1 or names.count("payload") > 1


def _refuse(constant: str) -> None:
    """JSON has no bare NaN or Infinity; JsonConverter writes them as strings."""
    raise ValueError(constant)


# Made once: `json.loads` would make one for each text.
_EXACT = json.JSONDecoder(parse_float=values.Number, parse_constant=_refuse)


def fields(schema: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The fields of a struct schema by name; empty where there is none."""
    listed = (schema or {}).get("fields")
    if not isinstance(listed, list):
        return {}
    named = (_named(field) for field in listed if isinstance(field, dict))
    return {str(field["field"]): field for field in named if "field" in field}


def _named(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """A field as JsonConverter writes it; BMDBDB's page has {"name", "schema": {"type"}}."""
    inner = field.get("schema")
    if "field" in field or not isinstance(inner, dict):
        return field
    return {**inner, "field": field.get("name"), "type": str(inner.get("type")).lower()}


def column_types(schema: Mapping[str, Any] | None) -> dict[str, ColumnType]:
    """Column types of a struct schema (a key, or the row inside an envelope), in their order."""
    return {name: from_connect(dict(field)) for name, field in fields(schema).items()}


def renamed(envelope: Document, names: Mapping[str, str]) -> Document:
    """An envelope whose rows call their columns by the names that a history has for them."""
    payload = {
        part: naming.renamed(of, names) if part in _IMAGES and isinstance(of, dict) else of
        for part, of in envelope.payload.items()
    }
    if envelope.schema is None:
        return Document(None, payload)
    parts = [
        {**of, "fields": _renamed(of, names)} if part in _IMAGES else of
        for part, of in fields(envelope.schema).items()
    ]
    return Document({**envelope.schema, "fields": parts}, payload)


def _renamed(row: Mapping[str, Any], names: Mapping[str, str]) -> list[Mapping[str, Any]]:
    return [{**of, "field": name} for name, of in naming.renamed(fields(row), names).items()]


def row_fields(envelope: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The fields of the row that an envelope's schema describes: its `after`, else `before`."""
    images = fields(envelope)
    return fields(images.get("after") or images.get("before"))
