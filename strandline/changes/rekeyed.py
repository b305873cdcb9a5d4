"""A table that got another primary key, or other `message.key.columns`.

No connector tells it: from then on records name their rows by other columns. What stood under the
old ones is changed and deleted under the new ones, so it would stay current for ever. It is held
as any incompatible change is (docs/semantics.md, "Another key holds the table while rows stand
under the old one"), until all of it has ended: by deletes or a truncate before the change, or by a
completed snapshot after it.
"""

from collections.abc import Iterable, Mapping

from strandline.changes.position import before_phase, is_placed, major_of
from strandline.errors import Terminal

# The columns of a key, in their order, in one physical table: tables may share a topic. In another
# order they make another text of a key, by which rows are known.
Identity = tuple[str, tuple[str, ...]]


def identity(table: str | None, columns: Iterable[str]) -> Identity:
    """What rows of a physical table are told apart by; `table` is a scope without its epoch."""
    return table or "", tuple(columns)


def place(seq: str) -> str:
    """What compares in positions of several keys: not the offset, where the log has a place."""
    return before_phase(seq) if is_placed(major_of(seq)) else seq


def check(latest: Mapping[Identity, str], standing: Mapping[Identity, str]) -> None:
    """Raises `Terminal` where rows stand whose table went on under another key.

    `latest` is the place of the last change, `standing` that of the row which was changed longest
    ago, of those that are current.
    """
    for (table, old), since in sorted(standing.items(), key=lambda each: (each[1], each[0])):
        for (other, new), last in sorted(latest.items()):
            if other == table and new != old and last > since:
                raise Terminal(_message(old, new))


def _message(old: Iterable[str], new: Iterable[str]) -> str:
    return (
        f"the key of the table changed from ({', '.join(old)}) to ({', '.join(new)}), and rows "
        "under the old one would stay current for ever: let the connector take a snapshot of the "
        "table and notify of its end, which ends them, or give the records with the new key a "
        "topic of their own"
    )
