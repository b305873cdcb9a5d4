"""Confluent's interface, which Apicurio, Karapace and Redpanda have as well: ids and GUIDs.

Source: Confluent's Schema Registry API reference. A schema that was deleted softly is still given
by its id; its subject and version only where `deleted` asks for it.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from strandline.formats.registry.schemas import SchemaType, StoredSchema
from strandline_airflow.registry.client import Client, NotThereError

PREFIXES = ("confluent", "guid")
_PATHS = {"confluent": "schemas/ids", "guid": "schemas/guids"}
_DELETED = {"deleted": "true"}


def asked(client: Client, schema_id: str) -> Iterator[StoredSchema]:
    """The schema of an id, behind those that it refers to."""
    prefix, _, number = schema_id.partition(":")
    path = f"{_PATHS[prefix]}/{number}"
    found = client.get(path).document()
    yield from _with_references(client, schema_id, found, _subject(client, path), {schema_id})


def _with_references(
    client: Client,
    schema_id: str,
    found: dict[str, Any],
    subject: str,
    met: set[str],
) -> Iterator[StoredSchema]:
    references = []
    for each in found.get("references") or ():
        name = quote(each["subject"], safe="")
        of = client.get(f"subjects/{name}/versions/{each['version']}", **_DELETED).document()
        referred = f"confluent:{of['id']}"
        references.append(referred)
        if referred not in met:  # a cycle is for whoever reads the schema to refuse
            met.add(referred)
            yield from _with_references(client, referred, of, each["subject"], met)
    kind = str(found.get("schemaType") or SchemaType.AVRO)  # which the registry leaves out
    yield StoredSchema(schema_id, found["schema"], known(kind), tuple(references), subject)


def known(kind: str) -> SchemaType:
    """The language that a schema is written in; `NotThereError` where nobody knows it."""
    if kind not in set(SchemaType):
        raise NotThereError(f"it is a schema in {kind}, which is not known here")
    return SchemaType(kind)


def _subject(client: Client, path: str) -> str:
    """The first name that the schema is registered under, for people."""
    try:
        found = client.get(f"{path}/versions", **_DELETED).document()
    except NotThereError:
        return ""
    return str(found[0]["subject"]) if found else ""
