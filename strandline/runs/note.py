"""What a run leaves with a commit of a Delta table, in the commit's own metadata, for the next."""

import json
from collections.abc import Iterator

from strandline.runs.commit import actions

METADATA = "userMetadata"  # the field of `commitInfo` that Delta has for its users


def written(run: int, text: str) -> str:
    """The note of a run as the metadata of a commit."""
    return json.dumps({"run": run, "text": text})


def of_commit(commit: str) -> Iterator[tuple[int, str]]:
    """The run and the text of the notes in a file of Delta's log; nobody else's metadata."""
    for action in actions(commit):
        found = _read(action.get("commitInfo", {}).get(METADATA))
        if found is not None:
            yield found


def _read(metadata: str | None) -> tuple[int, str] | None:
    """None where somebody else has written it: that may be any text."""
    try:
        told = json.loads(metadata or "null")
    except ValueError:
        return None
    ours = isinstance(told, dict) and told.keys() == {"run", "text"}
    return (told["run"], told["text"]) if ours else None
