"""Names of columns: which ones a history can take over from the source as they are.

Delta asks for names that differ in more than capitals, and a history has columns of its own. What
else a database allows in a name, the lake keeps (`is_plain` tells where that takes a feature). A
source file may rename a column on its way.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import TypeVar

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

V = TypeVar("V")


def check(names: Collection[str], renamed_to: Mapping[str, str]) -> None:
    """Raises `Terminal` where columns cannot stand side by side in a history.

    They have the names that `renamed_to` gives them; one that could not be renamed has its own.
    """
    for name in names:
        if name in renamed_to and name not in renamed_to.values():
            raise Terminal(
                f"column '{name}' cannot be called '{renamed_to[name]}', since the table has "
                "another column of that name: give it another one in the source file's 'rename'"
            )
    wrong = fault(names)
    if wrong is not None:
        name, why = wrong
        own = next((old for old, new in renamed_to.items() if new == name), name)
        line = f'rename = {{ {_quoted(own)} = "{_proposed(name, names)}" }}'
        raise Terminal(
            f"{why}: give it another name in the [[table]] section of the source file, {line}, or "
            "leave it out with the connector's column.exclude.list"
        )


def fault(names: Collection[str]) -> tuple[str, str] | None:
    """The first column that cannot stand beside the others in a history, and why; None: all can."""
    taken: dict[str, str] = {}
    for name in names:
        low = name.lower()
        if not name:
            return name, "a column has no name, and a Delta table cannot hold it"
        if low in _HISTORY or low in WORKING:
            return name, f"column '{name}' is called like one of a history's own"
        if name == taken.get(low):
            return name, f"two columns are called '{name}'"
        if low in taken:
            both = f"columns '{taken[low]}' and '{name}' differ in capitals only"
            return name, f"{both}, which a Delta table cannot hold"
        taken[low] = name
    return None


def renamed(columns: Mapping[str, V], names: Mapping[str, str]) -> Mapping[str, V]:
    """Columns under the names that a history has for them.

    One whose new name is that of another column here keeps its own: neither takes the other's place
    unseen, and `check` tells of it.
    """
    if not names:
        return columns
    others = columns.keys() - names.keys()
    found: dict[str, V] = {}
    for name, of in columns.items():
        new = names.get(name, name)
        found[name if new != name and new in others else new] = of
    return found


def _proposed(name: str, names: Collection[str]) -> str:
    """A name that would do."""
    taken = {each.lower() for each in names}
    wanted = f"{name.lstrip('_').lower() or 'column'}_"
    while wanted in taken:
        wanted += "_"
    return wanted


def _quoted(name: str) -> str:
    """As a key of TOML."""
    return json.dumps(name, ensure_ascii=False)


def is_plain(name: str) -> bool:
    """True where any Delta table can have a column of that name."""
    return not _UNPLAIN.search(name)
