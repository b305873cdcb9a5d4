"""One run: the tables of a manifest, one after the other, in this process.

A table that fails does not hold the others; the receipt says what happened to each.
"""

import time

from strandline.alone import work
from strandline.alone.orders import maintenance
from strandline.alone.stores.control import Control
from strandline.errors import BeyondAloneError
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.receipt import Receipt, TableReceipt


def compact(manifest: Manifest) -> Receipt:
    """Works the manifest off; every table that it could be done to is committed."""
    began = time.monotonic()
    known = work.announced(manifest)
    done = tuple(_done(manifest, cut, known) for cut in manifest.tables)
    stores = tuple(maintenance.stores(manifest)) if manifest.work is Work.MAINTAIN else ()
    control = known.records if manifest.work is Work.COMPACT else 0
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, done, control, seconds, stores)


def _done(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    try:
        return work.done(manifest, cut, known)
    except BeyondAloneError as error:
        return work.failed(cut, error)
