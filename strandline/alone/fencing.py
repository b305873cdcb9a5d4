"""Commits of runs: each carries the run's number as a transaction, and what the run noted.

A commit whose number the table has seen already is refused, so a retry, a zombie or a second
process changes nothing.
"""

import json
from collections.abc import Iterator

from deltalake import CommitProperties, DeltaTable, Transaction

from strandline.alone.tables import log_file

APPLICATION = "strandline"
_METADATA = "userMetadata"


def applied(table: DeltaTable | None, application: str = APPLICATION) -> int:
    """The highest run that has committed to the table, -1 where none has."""
    found = None if table is None else table.transaction_version(application)
    return -1 if found is None else found


def commit(run: int, text: str | None = None, application: str = APPLICATION) -> CommitProperties:
    """Of a commit of that run; `text` is for `notes` to find."""
    noted = None if text is None else {_METADATA: json.dumps({"run": run, "text": text})}
    return CommitProperties(app_transactions=[Transaction(application, run)], custom_metadata=noted)


def notes(table: DeltaTable) -> Iterator[tuple[int, str]]:
    """What runs left with their commits, newest first, as far as the log goes back."""
    for number in range(table.version(), -1, -1):
        text = log_file(table.table_uri, number)
        if text is None:
            return
        for action in map(json.loads, text.splitlines()):
            left = _left(action.get("commitInfo", {}).get(_METADATA))
            if left is not None:
                yield left


def _left(noted: str | None) -> tuple[int, str] | None:
    """(run, text) of a run's commit; None for anybody else's, whose metadata may be any text."""
    try:
        told = json.loads(noted or "null")
    except ValueError:
        return None
    ours = isinstance(told, dict) and told.keys() == {"run", "text"}
    return (told["run"], told["text"]) if ours else None
