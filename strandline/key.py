"""Keys as canonical JSON text: what tables are joined on and what `_moved_to` shows.

Canonical: the key's columns in their order, no white space, integers and booleans as such, every
other value as text in the form that `strandline.rendering` prints. The text of a key is the same
whichever bytes the converter wrote (with schema or without, int32 or int64).
"""

from collections.abc import Mapping

from strandline.rendering import floating, plain
from strandline.values import compact


def canonical(cells: Mapping[str, object]) -> str:
    """The key's text, e.g. `{"order_id":2,"line_no":9}`."""
    return compact({name: _component(value) for name, value in cells.items()})


def _component(value: object) -> object:
    if isinstance(value, float):
        return floating(value)
    shown = plain(value)
    return shown if shown is None or isinstance(shown, bool | int | str) else str(shown)
