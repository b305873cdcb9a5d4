"""Apicurio's own interface (`/apis/registry/v3`): contentIds and globalIds.

Source: Apicurio Registry 3's REST API. Confluent's serializers, pointed at Apicurio, write
contentIds, in the same bytes as Apicurio's own.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from strandline.formats.registry.schemas import StoredSchema
from strandline_airflow.registry.client import Client, NotThereError
from strandline_airflow.registry.confluent import known

PREFIXES = ("apicurio-content", "apicurio-global")
_PATHS = {"apicurio-content": "ids/contentIds", "apicurio-global": "ids/globalIds"}
_QUERIES = {"apicurio-content": "contentId", "apicurio-global": "globalId"}
_GROUP = "default"  # of artifacts that are in no group


def asked(client: Client, schema_id: str) -> Iterator[StoredSchema]:
    """The schema of an id, behind those that it refers to."""
    return _with_references(client, schema_id, {schema_id})


def _with_references(client: Client, schema_id: str, met: set[str]) -> Iterator[StoredSchema]:
    prefix, _, number = schema_id.partition(":")
    path = f"{_PATHS[prefix]}/{number}"
    text, references = client.get(path).text, []
    for each in client.get(f"{path}/references").document():
        referred = f"apicurio-content:{_version(client, each)['contentId']}"
        references.append(referred)
        if referred not in met:  # a cycle is for whoever reads the schema to refuse
            met.add(referred)
            yield from _with_references(client, referred, met)
    version = _versions(client, prefix, number)
    kind = known(str(version["artifactType"]))
    yield StoredSchema(schema_id, text, kind, tuple(references), str(version["artifactId"]))


def _version(client: Client, reference: dict[str, Any]) -> Any:
    group, artifact = (
        quote(each, safe="")
        for each in (reference.get("groupId") or _GROUP, reference["artifactId"])
    )
    path = f"groups/{group}/artifacts/{artifact}/versions/{reference['version']}"
    return client.get(path).document()


def _versions(client: Client, prefix: str, number: str) -> Any:
    """What is known of the first version that has the id."""
    found = client.get("search/versions", **{_QUERIES[prefix]: number}).document()["versions"]
    if not found:
        raise NotThereError(f"no version of an artifact has the {_QUERIES[prefix]} {number}")
    return found[0]
