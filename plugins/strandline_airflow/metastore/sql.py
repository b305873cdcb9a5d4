"""Names and columns in Spark's SQL; schemas are JSON, as Delta and Spark have them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from strandline.changes.version import INTERNAL_COLUMNS

_HIDDEN = {name for name, _ in INTERNAL_COLUMNS}

_Field = Mapping[str, Any]  # of a schema


def shown(schema: str) -> list[dict[str, Any]]:
    """The columns that people read, without what Delta alone has to know of them."""
    fields = json.loads(schema)["fields"]
    return [
        {"name": each["name"], "type": each["type"], "nullable": True, "metadata": {}}
        for each in fields
        if each["name"] not in _HIDDEN
    ]


def names(fields: Iterable[_Field]) -> str:
    """The columns of a SELECT."""
    return ", ".join(quoted(field["name"]) for field in fields)


def qualified(database: str, name: str) -> str:
    """A table with its database."""
    return f"{quoted(database)}.{quoted(name)}"


def quoted(name: str) -> str:
    """A name, whatever letters it has."""
    return f"`{name.replace('`', '``')}`"


def ddl(of: Any) -> str:
    """A type of a schema in JSON as SQL has it; histories have lists, and nothing else nested."""
    return f"array<{ddl(of['elementType'])}>" if isinstance(of, dict) else str(of)
