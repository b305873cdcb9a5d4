"""Part of stage 4: whether rows stand under a key that their table has no more."""

import json
from collections.abc import Iterable

from strandline.changes import rekeyed, scope
from strandline.changes.change import Change, Op
from strandline.interpreter.link import Life


def check(changes: Iterable[Change], lives: Iterable[Life]) -> None:
    """Raises `Terminal` where it is so; `changes` are all deliveries."""
    latest: dict[rekeyed.Identity, str] = {}
    for change in changes:
        if change.op is not Op.TOMBSTONE:  # it names no table
            of = _identity(change.scope, change.key)
            latest[of] = max(latest.get(of, ""), rekeyed.place(change.seq))
    if len({columns for _, columns in latest}) < 2:
        return
    standing: dict[rekeyed.Identity, str] = {}
    for life in lives:
        if life.end is None:
            named = (c.scope for c in reversed(life.images) if c.scope is not None)
            of = _identity(next(named, None), life.key)
            since = rekeyed.place(life.images[-1].seq)
            standing[of] = min(standing.get(of, since), since)
    rekeyed.check(latest, standing)


def _identity(of: str | None, key: str) -> rekeyed.Identity:
    return rekeyed.identity(of and scope.known(of), json.loads(key))
