"""Flattened records: what the transform ExtractNewRecordState leaves of an envelope.

The row is the value itself; a delete is the tombstone, or a row with `__deleted` "true" in the
rewrite modes; metadata is what `add.fields` asked for, with the prefix `__`
(docs/facts/envelopes.md, "Flattened records"). Here such a record gets its envelope back, as far as
it can be known.
"""

from collections.abc import Mapping
from typing import Any

from strandline.formats import connect

PREFIX = "__"
DELETED = "__deleted"
OP = "__op"
EMITTED = "__ts_ms"
SOURCE = "__source_"
MARKS = (DELETED, OP, EMITTED, "__lsn", "__table", "__source_ts_ms", "__source_connector")
# When Debezium handled the event, whatever the unit: without `source.` these are the envelope's.
PROCESSED = ("ts_ms", "ts_us", "ts_ns")
_OWN = (DELETED, OP, *(PREFIX + name for name in PROCESSED))
# Without `__op` a row says only that it stands; on a dead key it opens, as an update does.
STANDS = "u"


def is_flattened(value: Mapping[str, Any], schema: Mapping[str, Any] | None) -> bool:
    """True for a row that is no envelope: by its schema, and by its metadata where it has none."""
    if schema is not None:
        return describes_row(schema)
    is_envelope = value.get("op") is not None and isinstance(value.get("source"), dict)
    return not is_envelope and any(mark in value for mark in MARKS)


def describes_row(schema: Mapping[str, Any]) -> bool:
    """True for the schema of a flattened row: by its name, and by its metadata where it has none.

    An envelope's would end in `.Envelope`, and its `source` is a struct.
    """
    name = str(schema.get("name") or "")
    if name.endswith((".Value", ".Envelope")):
        return name.endswith(".Value")
    fields = connect.fields(schema)
    is_envelope = "op" in fields and fields.get("source", {}).get("type") == "struct"
    return not is_envelope and any(mark in fields for mark in MARKS)


def envelope(row: Mapping[str, Any], *, moved: bool) -> dict[str, Any]:
    """The record as an envelope. `moved`: a header names the key that the row had before."""
    cells = {name: cell for name, cell in row.items() if not name.startswith(PREFIX)}
    deleted = str(row.get(DELETED)).lower() == "true"
    op = str(row.get(OP) or ("c" if moved else STANDS))
    plain = {
        name.removeprefix(PREFIX): cell
        for name, cell in row.items()
        if name.startswith(PREFIX) and name not in _OWN and not name.startswith(SOURCE)
    }
    named = {n.removeprefix(SOURCE): cell for n, cell in row.items() if n.startswith(SOURCE)}
    return {
        "before": cells if deleted else None,
        "after": None if deleted else cells,
        "op": "d" if deleted else op,
        "source": {**plain, **named},
        "ts_ms": row.get(EMITTED),
    }


def row_schema(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The schema of the row without the metadata, as an envelope would describe it."""
    if schema is None:
        return None
    listed = schema.get("fields")
    fields = [
        field
        for field in (listed if isinstance(listed, list) else ())
        if isinstance(field, dict) and not str(field.get("field")).startswith(PREFIX)
    ]
    return {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}
