"""What a table is compared with: the `order` of such a manifest."""

from dataclasses import dataclass

TOPIC = "reconciliation"  # in place of a record's topic, where a run has set a version right

FORMATS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json"}


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """A snapshot of the source's rows: a file or folder at a URI that Spark reads, in a format.

    `as_of` is when the rows were read from the source (ISO-8601); `null` is how the text NULL is
    written in a CSV file. `correct`: whether the history is to say what the snapshot does.
    """

    snapshot: str
    format: str
    as_of: str
    null: str = ""
    correct: bool = False
