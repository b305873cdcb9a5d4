"""A history that Spark has made, gone on with alone: from landing, which has all of its records.

Spark keeps changes on record where this way keeps records. So a table's first run alone reads all
that ever landed for it, puts that on record, and derives the history once more; versions that are
what they were stay as they are.
"""

from collections.abc import Iterator

from strandline.alone.stores.landing import landed_before
from strandline.alone.stores.tables import opened, rows
from strandline.changes.record import Record
from strandline.errors import BeyondAloneError
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.reconciliation import TOPIC

_PLACES = "SELECT DISTINCT _topic_id, _partition, _offset FROM stored"


def once_landed(manifest: Manifest, cut: TableCut) -> Iterator[Record]:
    """The table's records; `BeyondAloneError` where landing does not have all of them."""
    lake = SourceLake(manifest.lake, manifest.source)
    found = landed_before(lake.landing, manifest.landing_version, cut.topic, cut.ranges)
    changes = opened(lake.changes(cut.table))
    if changes is not None:
        there = {(each.at.topic_id, each.at.partition, each.at.offset) for each in found}
        known = {tuple(row.values()) for row in rows(changes, _PLACES)}
        _refuse_loss(cut.topic, known - there)
    yield from found


def _refuse_loss(topic: str, lost: set[tuple[object, ...]]) -> None:
    if not lost:
        return
    corrected = sum(topic_id == TOPIC for topic_id, *_ in lost)
    why = (
        f"{corrected} changes of the table are corrections, for which no record landed"
        if corrected
        else f"{len(lost)} changes of the table are of records that landing no longer has"
    )
    raise BeyondAloneError(f"{topic}: {why}: leave the table to Spark")
