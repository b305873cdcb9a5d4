"""Part of stage 4: whether rows stand under a key that their table has no more."""

from collections.abc import Iterable, Mapping

from strandline.changes import rekeyed, scope
from strandline.changes.change import Change, Op
from strandline.changes.key import names
from strandline.changes.rekeyed import Identity
from strandline.law.group.link import Life


def latest(changes: Iterable[Change]) -> Mapping[Identity, str]:
    """The last place at which these deliveries change rows under each form of key."""
    found: dict[Identity, str] = {}
    for change in changes:
        if change.op is not Op.TOMBSTONE:  # it names no table
            of = _identity(change.scope, change.key)
            found[of] = max(found.get(of, ""), rekeyed.place(change.seq))
    return found


def standing(lives: Iterable[Life]) -> Mapping[Identity, str]:
    """Under each form of key the place of the row that stands and was changed longest ago."""
    found: dict[Identity, str] = {}
    for life in lives:
        if life.end is None:
            named = (c.scope for c in reversed(life.images) if c.scope is not None)
            of = _identity(next(named, None), life.key)
            since = rekeyed.place(life.images[-1].seq)
            found[of] = min(found.get(of, since), since)
    return found


def check(latest: Mapping[Identity, str], standing: Iterable[Mapping[Identity, str]]) -> None:
    """Raises `Terminal` where rows stand under a key after which their table got another."""
    if len({columns for _, columns in latest}) < 2:
        return
    first: dict[Identity, str] = {}
    for each in standing:
        for of, since in each.items():
            first[of] = min(first.get(of, since), since)
    rekeyed.check(latest, first)


def _identity(of: str | None, key: str) -> Identity:
    return rekeyed.identity(of and scope.known(of), names(key))
