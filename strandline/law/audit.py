"""Law 5, asked of versions before they are committed: of each key they follow each other."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from strandline.errors import AuditError


def check(versions: Mapping[str, Sequence[Any]], topic: str) -> None:
    """`AuditError` where two versions of a key overlap, or one that is not its last is open.

    `versions` are columns as in `Versions.columns`, those of a key beside each other, in order.
    """
    _check(zip(*(versions[name] for name in _ASKED), strict=True), topic)


_ASKED = ("key", "seq_from", "seq_to", "valid_from", "valid_to")


def _check(rows: Iterable[tuple[Any, ...]], topic: str) -> None:
    for (key, _, ended, _, until), (other, began, _, since, _) in pairwise(rows):
        if key == other and (ended is None or ended > began or until is None or until > since):
            raise AuditError(
                f"{topic}: a version of one of its keys that ends at {ended} is followed by one "
                f"that begins at {began}; nothing was committed. This is a fault of Strandline: "
                "keep the lake and report it"
            )
