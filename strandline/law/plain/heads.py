"""What the last version of a plain key keeps for the next run to go on from: what the key has seen.

A version does not say which records a key has had, only what they came to. So its table has a text
beside the last version of each key, of which nobody needs to know but this module. A key without
such a text is derived from all of its records.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from strandline.law.plain.fold import Made, Standing
from strandline.law.plain.rows import Rows
from strandline.law.versions import ROW_OF, VERSION_OF

_FORMAT = 1  # another number where the text is another one


class _Seen(NamedTuple):
    """What is kept of a `Standing`: what it says of the key's last record."""

    major: str
    own: str
    offset: int
    topic_id: str
    partition: int
    scope: str | None
    taken_over: str | None
    image: str
    floor: int | None


_kept = attrgetter(*_Seen._fields)


def seen(of: Standing) -> str | None:
    """The text; None for a key that rows moved from or to, which is not gone on with."""
    return None if of.moves else msgspec.json.encode((_FORMAT, _kept(of))).decode()


def is_seen(text: str | None) -> bool:
    """Whether it is such a text: a release before has kept another one in its place."""
    return text is not None and text.startswith(f"[{_FORMAT},[")


def standing(
    text: str | None, fields: Mapping[str, Any], cells: Sequence[object], rows: Rows
) -> Standing | None:
    """What stands of a key by its last version; None where that is not known.

    `fields` are those of `Versions.columns`, `cells` the business columns in the order and types of
    the table's. The row that opened the version is put among the `rows`.
    """
    known = _read(text)
    if known is None:
        return None
    number = rows.stand_in(**{own: fields[name] for name, own in ROW_OF.items()}, cells=cells)
    made: Made = (number, tuple(cells), *(fields[name] for name in VERSION_OF))
    is_open = fields["seq_to"] is None
    return Standing(
        rows=0,
        **known._asdict(),
        open=made if is_open else None,
        versions=[] if is_open else [made],
    )


def _read(text: str | None) -> _Seen | None:
    if text is None or not is_seen(text):
        return None
    return msgspec.json.decode(text, type=tuple[int, _Seen])[1]
