"""Updates that no version needs any more, now or when it is made again.

That is updates of a key before the newest whole image which is not after the oldest of its versions
still wanted. What begins or ends a row stays, and so does everything of keys that ever moved:
entities hang on them. What is proposed so is tried: the table is made without it, and where a
version that is wanted would be another one, its key keeps its updates.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from strandline.cells.instants import micros
from strandline.changes.change import IMAGES, Change, Op
from strandline.changes.record import Coordinates, Record
from strandline.changes.version import Version
from strandline.law.continuation import Announced, Made, history_of, take_up
from strandline.law.group import Derived
from strandline.law.table import Table, TableHistory

_Versions = Mapping[str, list[Version]]


@dataclass(frozen=True, slots=True)
class Horizon:
    """Updates `before` a moment may go, for versions that had not ended by another: `wanted`."""

    before: datetime
    wanted: datetime

    def of(self, found: TableHistory) -> _Versions:
        """The versions that are wanted, by key."""
        by_key: dict[str, list[Version]] = defaultdict(list)
        for version in found.versions:
            if version.valid_to is None or version.valid_to >= self.wanted:
                by_key[version.key].append(version)
        return by_key


def needless(
    made: Made, records: Collection[Record], now: Announced, horizon: Horizon
) -> AbstractSet[Coordinates]:
    """Where they lie, of all records of a table; `made` makes the table without any.

    Raises `Terminal` where the table has to stop.
    """
    table = made(now.history)
    take_up(table, records, now)
    history_of(table)
    old = _with_old_updates(table, horizon.before)
    table.waiting |= table.records.add(table.plain.hand_over(old))
    whole, _ = history_of(table)
    wanted = horizon.of(whole)
    proposed = {
        key: _proposed(table.groups[key], of, horizon)
        for key, of in wanted.items()
        if key in table.groups
    }
    gone = {at for places in proposed.values() for at in places}
    if not gone:
        return gone
    rest = made(now.history)
    take_up(rest, (record for record in records if record.at not in gone), now)
    left, _ = history_of(rest)
    if list(left.columns.items()) != list(whole.columns.items()):
        return set()
    others = horizon.of(left)
    unlike = {key for key in wanted.keys() | others.keys() if wanted.get(key) != others.get(key)}
    if any(not proposed.get(key) for key in unlike):
        return set()
    return gone - {at for key in unlike for at in proposed[key]}


def _with_old_updates(table: Table, before: datetime) -> set[str]:
    """Keys with such, of those that the general decoder has not read."""
    rows, moment = table.plain.rows, micros(before)
    return {
        key
        for key, numbers in table.plain.members.items()
        if any(rows.op[n] == Op.UPDATE and rows.best[n] < moment for n in numbers)
    }


def _proposed(
    of: Derived, versions: Iterable[Version], horizon: Horizon
) -> AbstractSet[Coordinates]:
    if _is_moved(of.changes):
        return set()
    oldest = min(version.seq_from for version in versions)
    old = [change for change in of.changes if change.time.best < horizon.before]
    whole = (change.seq for change in old if _is_whole(change) and change.seq <= oldest)
    base = max(whole, default="")
    return {change.at for change in old if change.op is Op.UPDATE and change.seq < base}


def _is_moved(changes: Iterable[Change]) -> bool:
    """Whether rows ever left the group's key, or came to it."""
    moves = any(change.moved_to or change.moved_from for change in changes)
    return moves or len({change.key for change in changes}) > 1


def _is_whole(change: Change) -> bool:
    """An image that needs no older one to be complete."""
    return change.op in IMAGES and not change.unset
