"""Names of columns: which ones a history can take over from the source as they are.

Delta asks for names that differ in more than capitals, and a history has columns of its own. What
else a database allows in a name, the lake keeps (`is_plain` tells where that takes a feature).
"""

import re
from collections.abc import Collection

from strandline.changes import version
from strandline.errors import Terminal

# What Spark notes beside the columns of a table while it works (a test holds this list).
WORKING = frozenset({
    "_absorbed", "_changed", "_changes", "_gone", "_left", "_new", "_old", "_same", "_standing",
    "_stood", "_was_open",
})  # fmt: skip

TABLE = "_table"  # what `strandline history` prints a row's table as
_HISTORY = frozenset(name for name, _ in (*version.COLUMNS, *version.INTERNAL_COLUMNS)) | {TABLE}
_UNPLAIN = re.compile(r"[ ,;{}()\n\t=]")
_REMEDY = (
    "leave it out with the connector's column.exclude.list, or rename it with the transform "
    "org.apache.kafka.connect.transforms.ReplaceField"
)


def check(names: Collection[str]) -> None:
    """Raises `Terminal` where columns cannot stand side by side in a history."""
    taken: dict[str, str] = {}
    for name in names:
        low = name.lower()
        if not name:
            raise Terminal("a column has no name, and a Delta table cannot hold it: " + _REMEDY)
        if low in _HISTORY or low in WORKING:
            raise Terminal(f"column '{name}' is called like one of a history's own: {_REMEDY}")
        if low in taken:
            raise Terminal(
                f"columns '{taken[low]}' and '{name}' differ in capitals only, which a Delta table "
                f"cannot hold: of one of them, {_REMEDY}"
            )
        taken[low] = name


def is_plain(name: str) -> bool:
    """True where any Delta table can have a column of that name."""
    return not _UNPLAIN.search(name)
