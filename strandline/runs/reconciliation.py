"""What a table is compared with: the `order` of such a manifest."""

import re
from dataclasses import dataclass

TOPIC = "reconciliation"  # in place of a record's topic, where a run has set a version right

FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json"}

# What each key is, of those on either side.
EQUAL, DIFFERENT = "equal", "different"
NOT_IN_SOURCE, NOT_IN_HISTORY = "not in the source", "not in the history"

_PATTERN = re.compile(r"[*?\[{]")  # Spark reads whatever files match


def is_pattern(snapshot: str) -> bool:
    """Whether it names files by a pattern."""
    return _PATTERN.search(snapshot) is not None


def is_whole_path(snapshot: str) -> bool:
    """Whether it names one file or folder from the root, be it of another store."""
    rooted = snapshot.startswith(("/", "file:/")) or "://" in snapshot
    return rooted and not is_pattern(snapshot)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """A snapshot of the source's rows: a file or folder at a URI, in a format.

    `as_of` is when the rows were read from the source (ISO-8601); `null` is how the text NULL is
    written in a CSV file. `correct`: whether the history is to say what the snapshot does.
    """

    snapshot: str
    format: str
    as_of: str
    null: str = ""
    correct: bool = False
