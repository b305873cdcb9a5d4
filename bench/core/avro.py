"""The records in Avro, framed as Confluent's serializer has them, and their two schemas."""

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
import pyarrow as pa

from bench.cases import envelope
from strandline.formats.registry.schemas import Schemas, StoredSchema

_TYPES = {"int32": "int", "int64": "long"}  # others are called the same
_KEY, _VALUE = 1, 2  # the ids of the schemas


def encoded(records: pa.Table, table: str) -> tuple[pa.Table, Schemas]:
    """Records of JSON without schemas, in Avro, and the schemas that they name."""
    key, value = _avro(envelope.key_schema(), set()), _avro(envelope.value_schema(table), set())
    written = {"key": (_KEY, key), "value": (_VALUE, value)}
    for column, (number, schema) in written.items():
        place = records.column_names.index(column)
        records = records.set_column(place, column, _column(records[column], number, schema))
    stored = [
        StoredSchema(f"confluent:{number}", json.dumps(schema))
        for number, schema in written.values()
    ]
    return records, Schemas.of(stored)


def _avro(connect: Mapping[str, Any], known: set[str]) -> Any:
    """What AvroConverter makes of a Connect schema: null first, a type described once."""
    of: Any = _TYPES.get(connect["type"], connect["type"])
    if of == "struct":
        of, name = connect["name"], connect["name"]
        if name not in known:
            known.add(name)
            fields = [
                {"name": each["field"], "type": _avro(each, known)} for each in connect["fields"]
            ]
            of = {"type": "record", "name": name, "fields": fields, "connect.name": name}
    return ["null", of] if connect["optional"] else of


def _column(documents: pa.ChunkedArray, number: int, schema: Any) -> pa.Array:
    parsed, framing = fastavro.parse_schema(schema), b"\0" + number.to_bytes(4)

    def datum(document: bytes | None) -> bytes | None:
        if document is None:
            return None
        written = io.BytesIO()
        fastavro.schemaless_writer(written, parsed, json.loads(document))
        return framing + written.getvalue()

    return pa.array(map(datum, documents.to_pylist()), pa.binary())
