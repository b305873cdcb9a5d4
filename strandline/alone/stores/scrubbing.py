"""Makes what was deleted from a table unreadable: old files, and logs with their statistics.

Deleting writes a file anew without its rows and leaves the old one, and the log keeps the smallest
and the greatest value of each column.
"""

import re
from collections.abc import Sequence

from deltalake import DeltaTable, write_deltalake

from strandline.alone.stores import fencing, files
from strandline.alone.stores.tables import opened, storage_options, whole

_NUMBERED = re.compile(r"_delta_log/\.?(\d{20})\.")
_LOG = "_delta_log/"


def scrubbed(uri: str, *, shared: bool = False, note: tuple[int, str] | None = None) -> None:
    """Leaves only what the newest version holds. Older versions can no longer be read.

    `shared`: somebody else may be writing to the table just now. Files that no commit names yet are
    left alone then, and its log keeps its statistics. `note`, of a run with its text, is left with
    the commit that is the first of the log that stays.
    """
    table = opened(uri)
    if table is None:
        return
    with fencing.overtaken(uri):
        table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=not shared)
    if shared:
        return
    if note is not None:
        run, text = note
        nothing = whole(table, "false")
        with fencing.overtaken(uri):
            write_deltalake(
                table,
                nothing,
                mode="append",
                storage_options=storage_options(),
                commit_properties=fencing.noting(run, text),
            )
    _cut_log(uri)


def leftovers(table: DeltaTable) -> Sequence[str]:
    """Names of data files in the table's folder that its newest version does not name."""
    live = {uri.rpartition("/")[2] for uri in table.file_uris()}
    there = (path for path in files.below(table.table_uri) if not path.startswith(_LOG))
    return sorted({path.rpartition("/")[2] for path in there} - live)


def _cut_log(uri: str) -> None:
    """Writes a checkpoint and deletes what lies before it, as Delta itself does after a month."""
    table = opened(uri)
    if table is None:
        return
    with fencing.overtaken(uri):
        table.create_checkpoint()
    numbered = ((path, _NUMBERED.match(path)) for path in files.below(uri))
    old = [path for path, found in numbered if found and int(found[1]) < table.version()]
    files.remove(uri, old)
