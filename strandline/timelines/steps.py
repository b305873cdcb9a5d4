"""The timeline of one key as facts: the steps that an explanation tells, and what they refer to."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from strandline.changes.record import Coordinates
from strandline.changes.version import ClosedBy, TimeQuality, Version


class Opening(StrEnum):
    """What opened a version, and on what it stood."""

    CREATE = "create"
    CREATE_OVER = "create_over"  # on a live key: the end of the row before it never came
    KEY_MOVE = "key_move"
    READ = "read"
    CORRECTION = "correction"  # a snapshot read that differs from the row that stood
    UPDATE = "update"
    UPDATE_UNSEEN = "update_unseen"  # no row stood: what was before it never came


class Reason(StrEnum):
    """Why a record opened no version and closed none."""

    REDELIVERY = "redelivery"
    TOMBSTONE = "tombstone"  # it follows its delete
    WAITING = "waiting"  # a tombstone behind a record in quarantine, whose fate it shares
    CONFIRMED = "confirmed"  # a snapshot read of the row as it stood
    STALE_READ = "stale_read"
    UNCHANGED = "unchanged"
    IGNORED_COLUMNS = "ignored_columns"
    NOT_LIVE = "not_live"  # an end, or a truncate, where no row stood
    UNSEEN_ROW = "unseen_row"  # its before image equals no row that stood
    TAKEN_OVER = "taken_over"  # another row had the key by then, in the same transaction
    OTHER_TABLE = "other_table"  # a truncate of another physical table of the topic
    QUARANTINED = "quarantined"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Reference:
    """A record as a timeline names it. `op` is "" where it could not be decoded or has none."""

    at: Coordinates
    op: str = ""
    position: str = ""
    tx_id: str | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """A time of the history; `source` is what the source said, believed or not."""

    time: datetime
    quality: TimeQuality
    source: datetime | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A column's value in a version, and in the version before where there is one."""

    name: str
    was: object
    now: object


@dataclass(frozen=True, slots=True)
class Opened:
    """A version began. `cells`: all of a fresh row, else those that changed.

    `carried` are the columns that were not sent and keep the last known value. `partnered` is False
    where the row moved here and nothing is known of the key that it left.
    """

    record: Reference
    version: Version
    when: Moment
    how: Opening
    fresh: bool
    cells: tuple[Cell, ...]
    carried: tuple[str, ...]
    partnered: bool = True


@dataclass(frozen=True, slots=True)
class Closed:
    """A version ended and no other followed it at once.

    `partnered` is False where the row moved away and has not arrived. The record of a row that a
    snapshot did not read is the first read of that snapshot.
    """

    record: Reference
    version: Version
    when: Moment
    how: ClosedBy
    partnered: bool = True


@dataclass(frozen=True, slots=True)
class Passed:
    """A record that neither opened nor closed a version.

    `other`: the record that it repeats, follows, or is older than. `columns`: the ignored ones that
    changed. `detail`: what a person should know besides.
    """

    record: Reference
    reason: Reason
    other: Coordinates | None = None
    columns: tuple[str, ...] = ()
    detail: str = ""


Step = Opened | Closed | Passed


@dataclass(frozen=True, slots=True)
class Explanation:
    """The timeline of one key, in the order of the source's log.

    `same_row` are the other keys that its rows had. `records` counts the deliveries of the key,
    `truncates` those of its table. `nameless` counts the quarantined records of the topic whose key
    cannot be read: any of them may belong here.
    """

    topic: str
    key: str
    steps: tuple[Step, ...]
    same_row: tuple[str, ...]
    records: int
    truncates: int
    nameless: int
