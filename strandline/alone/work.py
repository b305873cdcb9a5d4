"""What a manifest asks for, done to one table in this process."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from strandline.alone import choice
from strandline.alone.orders.erase import erased, left
from strandline.alone.orders.maintenance import maintained
from strandline.alone.orders.replay import replayed, undone
from strandline.alone.orders.requeue import requeued
from strandline.alone.stores import control
from strandline.alone.stores.control import Control
from strandline.alone.stores.fencing import OvertakenError
from strandline.alone.table import TableRun
from strandline.errors import BeyondAloneError, StrandlineError, Terminal, Transient
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.receipt import Counts, TableReceipt
from strandline.runs.way import Way

log = logging.getLogger(__name__)

_LOOKS = 5  # at one table: more than a run makes commits to it


def _compacted(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    return TableRun(manifest, cut, known).compact()


DONE_BY: Mapping[Work, Callable[[Manifest, TableCut, Control], TableReceipt]] = {
    Work.COMPACT: _compacted,
    Work.MAINTAIN: maintained,
    Work.REQUEUE: requeued,
    Work.REPLAY: replayed,
    Work.UNDO: undone,
    Work.ERASE: erased,
}


def announced(manifest: Manifest) -> Control:
    """The announcements, from a new look where another process is keeping them, too."""
    try:
        return control.announced(manifest)
    except OvertakenError:
        return control.announced(manifest)


def done(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """The table's receipt, also of what went wrong, with how long the work took, be it in vain.

    Raises `BeyondAloneError` where the table has to go through Spark.
    """
    began = time.monotonic()
    try:
        receipt = _again_if_overtaken(manifest, cut, known)
    except BeyondAloneError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it holds no other table
        receipt = failed(cut, error)
        if manifest.work is Work.ERASE:
            receipt = replace(receipt, history_version=left(manifest, cut))
    made = replace(receipt, seconds=round(time.monotonic() - began, 3), way=Way.ALONE)
    log.info("%s: %s", cut.table, made.summary(manifest.work))
    return made


def failed(cut: TableCut, error: Exception) -> TableReceipt:
    """The receipt of a table that it went wrong with."""
    if not isinstance(error, Terminal):  # whose text, in the receipt, says it all
        log.error("%s: failed", cut.table, exc_info=error)
    text = str(error) if isinstance(error, StrandlineError) else f"{type(error).__name__}: {error}"
    return TableReceipt(
        table=cut.table,
        topic=cut.topic,
        counts=Counts(),
        error=text.splitlines()[0],
        transient=isinstance(error, Transient),
    )


def _again_if_overtaken(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """What the work did, from a new look at the table where somebody else has committed to it.

    That may be another process with this very manifest. What it has committed is found then, and
    both leave the same receipt.
    """
    choice.check(manifest, cut)
    work = DONE_BY[manifest.work]
    for _ in range(_LOOKS - 1):
        try:
            return work(manifest, cut, known)
        except OvertakenError as error:
            log.info("%s: looked at again, since %s", cut.table, error)
    return work(manifest, cut, known)
