"""JSON with a JSON Schema in a registry: the schema's Connect types, the payload as it stands.

`connect.type`, `title`, `connect.parameters` and `connect.index` are what JsonSchemaConverter keeps
of the Connect schema.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from strandline.errors import UndecodableError
from strandline.formats import connect
from strandline.formats.connect import Document

_TYPES = {"boolean": "boolean", "integer": "int64", "number": "double", "string": "string"}
_KEPT = {"name": "title", "parameters": "connect.parameters", "default": "default"}
_DEPTH = 60  # of a schema, which may refer to itself
_MOST = 20_000  # parts of a schema


def read(body: bytes, what: str, text: str, references: tuple[str, ...] = ()) -> Document:
    """The document in `body`, with the schema that `text` is; `what` is for the error's detail."""
    payload = connect.parse_bare(body, what)
    if references:
        raise UndecodableError("unsupported_schema", "the JSON Schema refers to others")
    schema = _schema(text)
    if isinstance(schema, UndecodableError):
        raise UndecodableError(schema.reason, schema.detail)
    return Document(schema, payload)


@lru_cache(maxsize=1024)
def _schema(text: str) -> Mapping[str, Any] | UndecodableError:
    try:
        root = json.loads(text)
        return _Reading(root).of(root, 0)
    except UndecodableError as error:
        return error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        detail = f"the schema is no JSON Schema: {type(error).__name__}: {error}"
        return UndecodableError("bad_schema", detail)


class _Reading:
    """One schema on its way."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root, self.parts = root, 0

    def of(self, said: Mapping[str, Any], depth: int) -> dict[str, Any]:
        self.parts += 1
        if depth > _DEPTH or self.parts > _MOST:
            raise UndecodableError(
                "unsupported_schema", "the JSON Schema has itself within it, or too many parts"
            )
        said = self._referred(said)
        choices = said.get("oneOf") or said.get("anyOf")
        if isinstance(choices, list):
            others = [each for each in choices if each.get("type") != "null"]
            if len(others) == 1:
                return {**self.of(others[0], depth + 1), "optional": len(others) < len(choices)}
            return {"type": "struct", "optional": True}
        literal = said.get("type")
        optional = isinstance(literal, list) and "null" in literal
        if isinstance(literal, list):
            literal = next((each for each in literal if each != "null"), "string")
        found = {**self._typed(said, literal, depth), "optional": optional}
        kept = {of: said[name] for of, name in _KEPT.items() if said.get(name) is not None}
        return found | kept

    def _typed(self, said: Mapping[str, Any], literal: Any, depth: int) -> dict[str, Any]:
        own = said.get("connect.type")
        if own == "map" or (literal == "object" and "properties" not in said):
            return {"type": "map"}
        if literal == "object":
            named = said["properties"].items()
            ordered = sorted(named, key=lambda each: each[1].get("connect.index", 0))
            fields = [{**self.of(of, depth + 1), "field": name} for name, of in ordered]
            return {"type": "struct", "fields": fields}
        if literal == "array":
            return {"type": "array"}
        return {"type": own if isinstance(own, str) else _TYPES.get(str(literal), "string")}

    def _referred(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(_DEPTH):
            reference = said.get("$ref")
            if not isinstance(reference, str):
                return said
            if not reference.startswith("#"):
                raise UndecodableError("unsupported_schema", "the JSON Schema refers to others")
            found: Any = self.root
            for part in reference.removeprefix("#").strip("/").split("/"):
                found = found[part] if part else found
            said = found
        raise UndecodableError("unsupported_schema", "the JSON Schema refers to itself")
