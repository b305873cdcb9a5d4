"""A class of Airflow's that a source file names by its import path, with what it is made with."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from strandline.sources.section import Section

_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


@dataclass(frozen=True, slots=True)
class Component:
    """The import path of a class, and the arguments that it is made with."""

    path: str
    arguments: Mapping[str, Any]


def component(section: Section, key: str, what: str) -> Component:
    """The class that a section names under the key, with the section's `arguments`.

    `what` says in words what the class has to be, with an example. What is no import path is
    refused without what stands there, which may be a secret.
    """
    path = section.take(key, str, required=True)
    arguments = section.take("arguments", dict, {})
    if not _CLASS.fullmatch(path):
        section.refuse(key, f"must be the import path of {what}")
    return Component(path, MappingProxyType(arguments))
