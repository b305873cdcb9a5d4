"""Names of columns: which ones a history can take over from the source as they are.

Delta asks for names that differ in more than capitals, and a history has columns of its own. What
else a database allows in a name, the lake keeps (`is_plain` tells where that takes a feature).
"""

import re
from collections.abc import Collection

from strandline.changes import version
from strandline.errors import Terminal

# What compaction notes beside the columns of a table while it works (a test holds this list).
WORKING = frozenset(
    """
    _absorbed _after _base_closed_by _base_entity_id _base_moved_to _base_op _base_seq_from
    _base_seq_to _base_unavailable _base_valid_to _before _beside _broken _carried _cells _child_key
    _child_life _clock _connector_name _connector_run _corrupt _cut _cut_here _delivery _depth
    _detail _died _emitted _ends _entity_from _far_depth _far_key _far_life _fence _fenced _fences
    _final _first _first_run _followed _followed_again _follows _found _genuine _goes_back _hash
    _high _identity _in_flight _keys _kind _last _latest _left_key _left_life _life _line _link
    _live _local _located _major _match _named _new _new_key _next _nth _of _old _old_key _opened
    _opens _orderly _ordinal _outdated _own _parent_key _parent_life _passed _place _plain _preceded
    _reached _reads _reason _record _rederive _renews _repeated _rewound _root_key _root_life _run
    _run_before _same _seen _seq _shared _shifts _shows _since _snapshot _stale _standing _stored
    _sweep _time _told _topic_id _truncated _turn _unheld _unseen _unset _verdict _via_key _via_life
    _walk _walked _whole _wrapped
    """.split()  # noqa: SIM905 - a list of so many words is better read as a text
)

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
