"""Which way a table's part of a run goes: alone in one process, or spread by Spark over many tasks.

Both leave the same history. What decides is `strandline.alone.choice`, unless somebody does.
"""

import os
from collections.abc import Mapping
from enum import StrEnum

from strandline.errors import SpecError

WAY_VARIABLE = "STRANDLINE_WAY"


class Way(StrEnum):
    """`AUTO` is by what has arrived, and what is there already."""

    AUTO = "auto"
    ALONE = "alone"
    SPREAD = "spread"


def way(text: str, where: str) -> Way:
    """The way of that name; `SpecError`, which says where it was written, if there is none."""
    try:
        return Way(text)
    except ValueError as error:
        allowed = ", ".join(Way)
        raise SpecError(f"{where} must be one of {allowed}, not '{text}'") from error


def forced(of: Way, environment: Mapping[str, str] = os.environ) -> Way:
    """The way that the environment names, else that of the manifest."""
    text = environment.get(WAY_VARIABLE)
    return way(text, WAY_VARIABLE) if text else of
