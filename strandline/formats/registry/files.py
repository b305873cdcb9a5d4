"""A folder of schemas for captures: a file for each, named by the id that records have for it.

`17.avsc` is Confluent's schema 17; other ids are written out, with a hyphen: `guid-4a1c….avsc`,
`apicurio-global-17.avsc`, `apicurio-content-17.avsc`, `glue-4a1c….avsc`. The ending says what the
schema is written in: `.avsc` Avro, `.json` JSON Schema, `.proto` Protobuf. A file may hold what the
registry answers, `{"schema": "…", "schemaType": "…"}`, instead of the schema itself.
"""

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

from strandline.errors import SpecError
from strandline.formats.registry.schemas import Schemas, SchemaType, StoredSchema

_TYPES = {".avsc": SchemaType.AVRO, ".json": SchemaType.JSON, ".proto": SchemaType.PROTOBUF}
_NAME = re.compile(r"(?:(confluent|apicurio-global|apicurio-content)-)?([0-9]+)")
_UUID = re.compile(r"(guid|glue)-([0-9a-fA-F-]{32,36})")
_NAMES = (
    "17.avsc, guid-UUID.avsc, apicurio-global-17.avsc, apicurio-content-17.avsc, glue-UUID.avsc"
)


def load(folder: Path) -> Schemas:
    """The schemas of a folder; `SpecError` says which file is none."""
    try:
        paths = sorted(folder.iterdir())
        texts = {path: path.read_text(encoding="utf-8-sig") for path in paths if _is_schema(path)}
    except OSError as error:
        raise SpecError(f"cannot read schemas {folder}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{folder}: a schema is not UTF-8: {error}") from error
    if not texts:
        raise SpecError(f"{folder}: no schema is there; files are called {_NAMES}")
    return Schemas.of(_stored(path, text) for path, text in texts.items())


def _is_schema(path: Path) -> bool:
    return path.suffix in _TYPES


def _stored(path: Path, text: str) -> StoredSchema:
    answer = _answer(text)
    if answer is None:
        return StoredSchema(_id(path), text, _TYPES[path.suffix])
    kind = str(answer.get("schemaType", SchemaType.AVRO))  # which a registry leaves out for Avro
    if kind not in set(SchemaType):
        raise SpecError(f"{path}: 'schemaType' must be one of {', '.join(SchemaType)}, not {kind}")
    if answer.get("references"):
        raise SpecError(f"{path}: the schema refers to others: write their types out in it")
    return StoredSchema(_id(path), str(answer["schema"]), SchemaType(kind))


def _answer(text: str) -> dict[str, Any] | None:
    """What a registry answers, where the text is that."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_answer = isinstance(found, dict) and isinstance(found.get("schema"), str)
    return found if is_answer else None


def _id(path: Path) -> str:
    numbered, named = _NAME.fullmatch(path.stem), _UUID.fullmatch(path.stem)
    if numbered is not None:
        return f"{numbered[1] or 'confluent'}:{int(numbered[2])}"
    try:
        if named is not None:
            return f"{named[1]}:{UUID(named[2])}"
    except ValueError:
        pass
    raise SpecError(f"{path}: the name of a schema's file is its id: {_NAMES}")
