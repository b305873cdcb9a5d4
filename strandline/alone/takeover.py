"""A history that the release before has spread, gone on with: from landing, which has its records.

That release kept changes on record where this one keeps records. So the table's first run reads all
that ever landed for it, puts that on record, and derives the history once more; versions that are
what they were stay as they are. Corrections, for which nothing landed, are taken from the changes.
"""

from collections.abc import Iterator

from strandline.alone.stores import fencing, history
from strandline.alone.stores.landing import landed_before
from strandline.alone.stores.tables import opened, rows
from strandline.changes.change import Op
from strandline.changes.record import Record
from strandline.errors import BeyondAloneError
from strandline.law.corrections import placed, written
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.reconciliation import TOPIC

_PLACES = """
    SELECT DISTINCT _topic_id, _partition, _offset FROM stored
    WHERE _topic_id <> :corrected AND _run <= :applied
"""
_CORRECTED = "SELECT * FROM stored WHERE _topic_id = :corrected AND _run <= :applied"


def once_landed(manifest: Manifest, cut: TableCut) -> Iterator[Record]:
    """The table's records; `BeyondAloneError` where landing does not have all of them."""
    lake = SourceLake(manifest.lake, manifest.source)
    found = landed_before(lake.landing, manifest.landing_version, cut.topic, cut.ranges)
    changes = opened(lake.changes(cut.table))
    if changes is not None:
        there = {(each.at.topic_id, each.at.partition, each.at.offset) for each in found}
        applied = fencing.applied(opened(lake.history(cut.table)))
        asked: dict[str, str | int] = {"corrected": TOPIC, "applied": applied}
        known = {tuple(row.values()) for row in rows(changes, _PLACES, **asked)}
        _refuse_loss(cut.topic, len(known - there))
        found += corrections(lake, cut)
    yield from found


def _refuse_loss(topic: str, lost: int) -> None:
    if lost:
        raise BeyondAloneError(
            f"{topic}: {lost} changes of the table are of records that landing no longer has: "
            "let the connector take a new snapshot of the table into a topic of its own "
            "(docs/operations.md)"
        )


def corrections(lake: SourceLake, cut: TableCut) -> Iterator[Record]:
    """What reconciliations have set right, but those of a run that failed, as records."""
    changes, stored = opened(lake.changes(cut.table)), opened(lake.history(cut.table))
    if changes is None or stored is None:
        return
    columns = history.columns(stored)
    applied = fencing.applied(stored)
    for row in rows(changes, _CORRECTED, corrected=TOPIC, applied=applied):
        unset = frozenset(row["_unset"] or ())
        there = {name: row[name] for name in columns if name in row and name not in unset}
        change = placed(
            row["_key"],
            None if row["_op"] == Op.ABSENT else there,
            unset,
            seq=row["_seq"],
            scope=row["_scope"],
            run=row["_offset"],
            moment=row["_time"],
        )
        yield written(change, columns)
