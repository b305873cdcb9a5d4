"""Avro: bytes and the schema that they were written with become the document that JSON would be.

So nothing behind it knows of Avro. A schema is made ready once in a process.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from strandline.errors import UndecodableError
from strandline.formats.connect import Document
from strandline.formats.registry import avro_schema
from strandline.formats.registry.avro_schema import Convert

_READY = 1024  # schemas that are kept ready; one of many columns takes a megabyte
_RENAMED = {"default": avro_schema.DEFAULT, "logicalType": avro_schema.LOGICAL}
_UNREADABLE = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, OverflowError,
    MemoryError, RecursionError, StopIteration,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Writer:
    """What is known of a writer's schema: how the library reads it, and what it means in Connect.

    `named` are its types by full name. `fault`: why nothing can be read with it.
    """

    parsed: Any
    named: Mapping[str, Any]
    schema: Mapping[str, Any]
    convert: Convert | None
    fault: UndecodableError | None = None


def read(body: bytes, what: str, text: str, references: tuple[str, ...] = ()) -> Document:
    """The document that JsonConverter would have written of the datum in `body`.

    `text` is the writer's schema, `references` are the schemas whose types it uses. `what` names
    the part in the error's detail ("value", "key", "header …").
    """
    writer = writer_of(text, references)
    if writer.fault is not None:
        raise UndecodableError(writer.fault.reason, writer.fault.detail)
    stream = io.BytesIO(body)
    try:
        datum: Any = fastavro.schemaless_reader(stream, writer.parsed, None, return_named_type=True)
        if datum is not None and writer.convert is not None:
            datum = writer.convert(datum)
    except UnicodeDecodeError as error:
        raise UndecodableError("invalid_utf8", f"a text in the {what} is not UTF-8") from error
    except _UNREADABLE as error:
        raise UndecodableError(
            "invalid_avro", f"the {what} is not written with the schema that it names"
        ) from error
    rest = len(body) - stream.tell()
    if rest:
        raise UndecodableError("invalid_avro", f"the {what} has {rest} bytes behind its datum")
    return Document(writer.schema, datum)


@lru_cache(maxsize=_READY)
def writer_of(text: str, references: tuple[str, ...] = ()) -> Writer:
    """What is known of a schema, which is found out once."""
    try:
        named: dict[str, Any] = {}
        for each in references:
            _parsed(each, named)
        parsed = _parsed(text, named)
        meant = avro_schema.meaning(parsed, named)
    except UndecodableError as error:
        return Writer(None, {}, {}, None, error)
    except (SchemaParseException, UnknownType, *_UNREADABLE) as error:
        detail = f"the schema is no Avro schema: {type(error).__name__}: {error}"
        return Writer(None, {}, {}, None, UndecodableError("bad_schema", detail))
    return Writer(parsed, named, meant.schema, meant.convert)


def _parsed(text: str, named: dict[str, Any]) -> Any:
    try:
        schema = json.loads(text)
    except ValueError:
        schema = text.strip()  # the bare name of a type
    return fastavro.parse_schema(_raw(schema), named)


def _raw(avro: Any) -> Any:
    """The schema without what the library would act on: values are to stay as they were written."""
    if isinstance(avro, list):
        return [_raw(each) for each in avro]
    if not isinstance(avro, dict):
        return avro
    found = {_RENAMED.get(name, name): of for name, of in avro.items()}
    for name in ("type", "items", "values"):
        if name in found:
            found[name] = _raw(found[name])
    if isinstance(found.get("fields"), list):
        found["fields"] = [_raw(each) for each in found["fields"]]
    return found
