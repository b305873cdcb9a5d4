"""The schemas that a source's records name, as its registry gave them: what was stored is enough.

Landing puts them there before it commits the records that name them, so whoever reads landed
records asks no registry. An id that a registry was asked for in vain has a row without a text, with
the reason; it is asked for again.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import pyarrow as pa
from deltalake import write_deltalake

from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import opened, rows, storage_options
from strandline.formats.registry.schemas import Schemas, SchemaType, StoredSchema

# `references` are the ids of the schemas that a text takes types from, each with a row of its own.
SCHEMAS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("type", pa.string()),
        pa.field("references", pa.list_(pa.string())),
        pa.field("subject", pa.string()),
        pa.field("fault", pa.string()),
        pa.field("asked_at", pa.timestamp("us", "UTC"), nullable=False),
    ]
)
_IN_ORDER = "SELECT * FROM stored ORDER BY asked_at"


def known(uri: str, version: int | None = None) -> Schemas:
    """The schemas of a source's table at a version, or at its newest; none where there is none."""
    table = None if version == -1 else opened(uri, version)
    found = [] if table is None else rows(table, _IN_ORDER)
    stored = [_stored(row) for row in found if row["text"] is not None]
    faults = {row["id"]: row["fault"] for row in found if row["text"] is None}
    schemas = Schemas.of(stored)
    return Schemas(
        schemas.known, {name: why for name, why in faults.items() if name not in schemas.known}
    )


def version(uri: str) -> int:
    """The newest version of the table; -1 where there is none."""
    table = opened(uri)
    return -1 if table is None else table.version()


def arrow(
    stored: Iterable[StoredSchema], faults: Mapping[str, str], asked_at: datetime
) -> pa.Table:
    """Rows of schemas, and of the ids that were asked for in vain."""
    given = [
        {
            "id": each.id,
            "text": each.text,
            "type": str(each.type),
            "references": list(each.references),
            "subject": each.subject,
            "asked_at": asked_at,
        }
        for each in stored
    ]
    failed = [{"id": name, "fault": why, "asked_at": asked_at} for name, why in faults.items()]
    return pa.Table.from_pylist([*given, *failed], schema=SCHEMAS)


def append(uri: str, found: pa.Table) -> None:
    """Puts such rows there; what is there already is a row more, and means the same."""
    with explained(uri):
        write_deltalake(uri, found, mode="append", storage_options=storage_options())


def _stored(row: Mapping[str, object]) -> StoredSchema:
    references = row["references"] or ()
    assert isinstance(references, Iterable)  # noqa: S101 - as the table's schema has it
    return StoredSchema(
        str(row["id"]),
        str(row["text"]),
        SchemaType(str(row["type"])),
        tuple(map(str, references)),
        str(row["subject"] or ""),
    )
