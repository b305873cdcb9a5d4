"""One compaction run: the tables of a manifest, one after the other, in this process.

A table that fails does not hold the others; the receipt says what happened to each.
"""

import logging
import time
from dataclasses import replace

import pyarrow as pa

from strandline.alone.control import Control, announced
from strandline.alone.fencing import OvertakenError
from strandline.alone.table import TableRun
from strandline.errors import StrandlineError, Terminal, Transient
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt

log = logging.getLogger(__name__)

_LOOKS = 5  # at one table: more than a run makes commits to it


def compact(manifest: Manifest) -> Receipt:
    """Applies the manifest; every table that could be applied is committed."""
    began = time.monotonic()
    control = _announced(manifest)
    done = tuple(_attempted(manifest, cut, control) for cut in manifest.tables)
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, control.records, seconds)


def _announced(manifest: Manifest) -> Control:
    """The announcements, from a new look where another process is keeping them, too."""
    try:
        return announced(manifest)
    except OvertakenError:
        return announced(manifest)


def _attempted(manifest: Manifest, cut: TableCut, control: Control) -> TableReceipt:
    """The table's receipt, with how long the work took, be it in vain."""
    began = time.monotonic()
    try:
        receipt = _again_if_overtaken(TableRun(manifest, cut, control))
    except (StrandlineError, pa.ArrowException) as error:
        if not isinstance(error, Terminal):  # whose text, in the receipt, says it all
            log.exception("%s: failed", cut.table)
        receipt = TableReceipt(
            table=cut.table,
            topic=cut.topic,
            counts=Counts(),
            error=str(error).splitlines()[0],
            transient=isinstance(error, Transient),
        )
    return replace(receipt, seconds=round(time.monotonic() - began, 3))


def _again_if_overtaken(run: TableRun) -> TableReceipt:
    """What the run did, from a new look at the table where somebody else has committed to it.

    That may be another process with this very manifest. What it has committed is found then, and
    both leave the same receipt.
    """
    for _ in range(_LOOKS - 1):
        try:
            return run.compact()
        except OvertakenError as error:
            log.info("%s: looked at again, since %s", run.cut.table, error)
    return run.compact()
