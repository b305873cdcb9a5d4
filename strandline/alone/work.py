"""What a manifest asks for, done in this process: one table after the other.

A table that fails does not hold the others; the receipt says what happened to each.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from strandline.alone import choice
from strandline.alone.orders import maintenance
from strandline.alone.orders.erase import erased, left
from strandline.alone.orders.reconcile import reconciled
from strandline.alone.orders.replay import replayed, undone
from strandline.alone.orders.requeue import requeued
from strandline.alone.stores import control
from strandline.alone.stores.control import Control
from strandline.alone.stores.fencing import OvertakenError
from strandline.alone.table import TableRun
from strandline.errors import BeyondAloneError, StrandlineError, Terminal, Transient
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.way import Way

log = logging.getLogger(__name__)

Made = TypeVar("Made")

_LOOKS = 5  # at one table: more than a run makes commits to it


def _compacted(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    return TableRun(manifest, cut, known).compact()


_DONE_BY: Mapping[Work, Callable[[Manifest, TableCut, Control], TableReceipt]] = {
    Work.COMPACT: _compacted,
    Work.MAINTAIN: maintenance.maintained,
    Work.REQUEUE: requeued,
    Work.REPLAY: replayed,
    Work.UNDO: undone,
    Work.ERASE: erased,
    Work.RECONCILE: reconciled,
}


def work_off(manifest: Manifest) -> Receipt:
    """Works the manifest off; every table that it could be done to is committed."""
    began = time.monotonic()
    known = announced(manifest)
    tables = tuple(_done(manifest, cut, known) for cut in manifest.tables)
    heard = known.records if manifest.work is Work.COMPACT else 0
    stores = _tended(manifest) if manifest.work is Work.MAINTAIN else ()
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, tables, heard, seconds, stores)


def announced(manifest: Manifest) -> Control:
    """The announcements, from a new look where another process is keeping them, too."""
    return _again_if_overtaken(partial(control.announced, manifest), manifest.source)


def done(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """The table's receipt, also of what went wrong, with how long the work took, be it in vain.

    Raises `BeyondAloneError` where the table has to go through Spark.
    """
    made = _attempted(cut, partial(_checked, manifest, cut, known))
    if made.error is not None and manifest.work is Work.ERASE:
        made = replace(made, history_version=left(manifest, cut))
    return made


def _checked(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    choice.check(manifest, cut)
    return _DONE_BY[manifest.work](manifest, cut, known)


def _done(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    try:
        made = done(manifest, cut, known)
    except BeyondAloneError as error:
        made = _failed(cut, error)
    made.tell(log, manifest.work)
    return made


def _tended(manifest: Manifest) -> tuple[TableReceipt, ...]:
    """What became of the source's tables that are no histories."""
    return tuple(
        _attempted(cut, partial(maintenance.tended, manifest, cut))
        for cut in maintenance.stores(manifest)
    )


def _attempted(cut: TableCut, work: Callable[[], TableReceipt]) -> TableReceipt:
    began = time.monotonic()
    try:
        receipt = _again_if_overtaken(work, cut.table)
    except BeyondAloneError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it holds no other table
        receipt = _failed(cut, error)
    return replace(receipt, seconds=round(time.monotonic() - began, 3), way=Way.ALONE)


def _failed(cut: TableCut, error: Exception) -> TableReceipt:
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


def _again_if_overtaken(work: Callable[[], Made], name: str) -> Made:
    """What the work made, from a new look where somebody else has committed since the last one.

    That may be another process with this very manifest. What it has committed is found then, and
    both leave the same receipt.
    """
    for _ in range(_LOOKS - 1):
        try:
            return work()
        except OvertakenError as error:
            log.info("%s: looked at again, since %s", name, error)
    return work()
