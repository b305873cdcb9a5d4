"""Scopes: which physical table a record is of, as text: `epoch/server/mark/db.schema.table`.

One topic may carry several tables, of several servers too. A truncate has no key, so its scope says
whose rows it ends. The server is what the connector calls it (`source.name`, its topic prefix). It
tells tables apart only where keys do, too: of a row whose key names its physical table (the
router's field) the mark is that name. Else two servers may be one that took another's place, which
nobody can know unless an epoch says so: see `mixed`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

_PARTS = 4
_SEPARATOR = "/"
# Of a table's name: dots stand between its parts, and behind an @ is the part of it (a tablet) that
# a record is of. In the parts themselves these signs have a backslash before them; what a release
# before has written of a table lacks it, and its mark is a plus.
_SIGN = re.compile(r"[\\.@]")
_PART = re.compile(r"(?:[^\\.@]|\\.)+", re.DOTALL)
_WHOLE = re.compile(r"(?:[^\\@]|\\.)*", re.DOTALL)
_SIGNED = re.compile(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=1024)  # each record has one
def name(parts: tuple[str, ...], tablet: str | None = None) -> str:
    """The name of a table, from those of its database, schema and of itself."""
    whole = ".".join(_SIGN.sub(r"\\\g<0>", part) for part in parts)
    return whole if tablet is None else f"{whole}@{tablet}"


def of(epoch: int, server: str | None, name: str, *, mark: str = "") -> str:
    """The scope of a record. `mark`: what its key calls its physical table, if it does."""
    return _SEPARATOR.join((f"{epoch:04x}", server or "", quote(mark, safe=""), name))


def table(scope: str) -> str:
    """The table's name, as the source has it."""
    return _shown(_parts(scope)[3])


def physical(known: str) -> tuple[str, str]:
    """The mark and the table's name, from a scope without its epoch."""
    _, mark, name = known.split(_SEPARATOR, _PARTS - 2)
    return mark, name


def parts(name: str) -> Sequence[str]:
    """The names that a table's name is made of, without the part of it that a record is of."""
    found = _WHOLE.match(name)
    return [_shown(part) for part in _PART.findall(found[0] if found else "")] or [_shown(name)]


def is_same(one: str, other: str) -> bool:
    """Whether two names are one, also where a release before has written one of them."""
    if one == other:
        return True
    return not ("\\" in one and "\\" in other) and _shown(one) == _shown(other)


def server(scope: str) -> str | None:
    """What the connector calls its server; None where nobody says."""
    return _parts(scope)[1] or None


def epoch(scope: str) -> str:
    """The lineage of the log."""
    return _parts(scope)[0]


def has_server(scope: str) -> bool:
    """Whether anybody says whose it is."""
    return bool(_parts(scope)[1])


def known(scope: str) -> str:
    """All but the epoch."""
    return _SEPARATOR.join(_parts(scope)[1:])


def concerns(fence: str, row: str) -> bool:
    """Whether a fence is of the row's table."""
    of_fence, of_row = _parts(fence), _parts(row)
    apart = of_row[2] != "" and _apart(of_fence, of_row)
    return is_same(of_fence[3], of_row[3]) and not apart


def strangers(one: str | None, other: str | None) -> bool:
    """Whether two records are of two servers in one epoch: their positions do not compare."""
    if one is None or other is None:
        return False
    return _parts(one)[0] == _parts(other)[0] and _apart(_parts(one), _parts(other))


def mixed(partition: int, offset: int, own: str, before: str) -> str:
    """What is to be said of the first record that changes what another server has sent.

    `own` and `before` are the scopes of the two.
    """
    servers = (_parts(each)[1] for each in (own, before))
    return (
        f"the record at offset {offset} of partition {partition} is of the server "
        "'{}', and the row that it changes was sent by '{}': ".format(*servers)
        + "positions in the logs of two servers do not compare. Give each server topics of its "
        "own, or keys that name the table (ByLogicalTableRouter); if one took the other's place, "
        "declare an epoch since that record's time in Kafka, with the DAG epoch__SOURCE or an "
        "[[epoch]] in the source file"
    )


def _shown(name: str) -> str:
    return _SIGNED.sub(r"\1", name) if "\\" in name else name


def _apart(one: list[str], other: list[str]) -> bool:
    return len({one[1], other[1]} - {""}) > 1


def _parts(scope: str) -> list[str]:
    """Epoch, server, mark, table."""
    return scope.split(_SEPARATOR, _PARTS - 1)
