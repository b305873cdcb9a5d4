"""Work `requeue`: quarantined records are read again, once their cause is mended.

They are applied like records that come late. Those still refused are quarantined anew, with the
reason that holds now; then everything that was read again leaves. A run that dies before that finds
its records in quarantine as they were, and its commits done; one that dies after it finds what it
was to tell of them with the commit by which they left.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from strandline.alone.stores import fencing, quarantine
from strandline.alone.stores.control import Control
from strandline.alone.stores.noted import Noted
from strandline.alone.stores.tables import opened
from strandline.alone.table import TableRun
from strandline.changes.record import Record
from strandline.errors import Terminal
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import TableReceipt
from strandline.runs.selection import Selection


def requeued(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Reads again what the manifest selects of the table."""

    def applied(chosen: Sequence[Record]) -> TableReceipt:
        return TableRun(manifest, cut, known, given=tuple(chosen)).compact()

    return read_again(manifest, cut, applied)


def read_again(
    manifest: Manifest, cut: TableCut, applied: Callable[[Sequence[Record]], TableReceipt]
) -> TableReceipt:
    """The same; `applied` is the receipt of a run that has these records given."""
    path = SourceLake(manifest.lake, manifest.source).quarantine
    done = _done(path, manifest, cut)
    if done is not None:
        return done
    chosen = _selected(path, manifest, cut)
    receipt = applied(chosen)
    counts = receipt.counts
    did = {"read again": counts.landed, "refused again": counts.quarantined}
    receipt = replace(receipt, did=did)
    note = Noted(receipt, None, "").text()
    quarantine.strike(path, cut.table, [record.at for record in chosen], manifest.number, note)
    return receipt


def _done(path: str, manifest: Manifest, cut: TableCut) -> TableReceipt | None:
    """What was told of the table's records, where they have been read again and left."""
    stored = opened(path)
    if stored is None or fencing.applied(stored, quarantine.struck(cut.table)) < manifest.number:
        return None
    mine = (text for run, text in fencing.notes(stored) if run == manifest.number)
    receipts = (Noted.from_text(text).receipt for text in mine)
    own = next((receipt for receipt in receipts if receipt.table == cut.table), None)
    if own is None:
        raise Terminal(
            f"{path}: what run {manifest.number} read again of {cut.table} has left, but its "
            "commit is no longer in the log"
        )
    return own


def _selected(path: str, manifest: Manifest, cut: TableCut) -> Sequence[Record]:
    """The selected records, each once, in the order of their places."""
    wanted = Selection(**manifest.order)
    found = quarantine.refused(path, cut.table, before=manifest.number)
    by_place = {record.at: record for record, why in found if _is_meant(record, why, wanted)}
    return [by_place[at] for at in sorted(by_place, key=lambda at: (at.partition, at.offset))]


def _is_meant(record: Record, reason: str, wanted: Selection) -> bool:
    if wanted.reason and reason != wanted.reason:
        return False
    if wanted.since and record.timestamp < _millis(wanted.since):
        return False
    return not (wanted.until and record.timestamp >= _millis(wanted.until))


def _millis(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() * 1000
