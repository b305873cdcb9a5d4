"""Work `maintain`: what the source's policy no longer keeps goes, many small files become few.

Every step is a pure function of the manifest and may be repeated.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from deltalake import DeltaTable

from strandline.alone.stores import fencing, history, landing, noted, records
from strandline.alone.stores.control import Control
from strandline.alone.stores.tables import committed_at, has_vectors, opened
from strandline.alone.table import TableRun
from strandline.errors import BeyondAloneError
from strandline.law.forgetting import Horizon
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline.runs.upkeep import UPDATES, VERSIONS, Upkeep

_HOUR = 3600


def maintained(manifest: Manifest, cut: TableCut, known: Control) -> TableReceipt:
    """Tends a table's history and records; retention first, so that the rest sees its files.

    Raises `BeyondAloneError` where the history has deletion vectors, which delta-rs does not merge
    away.
    """
    upkeep = Upkeep(**manifest.order)
    lake = SourceLake(manifest.lake, manifest.source)
    path = lake.history(cut.table)
    stored = opened(path)
    if stored is None:
        return TableReceipt(cut.table, cut.topic, Counts())
    if has_vectors(stored):
        raise BeyondAloneError(f"{cut.topic}: its files have deletion vectors")
    records.forget_failed(lake.records(cut.table), stored, manifest.number)
    did: dict[str, int] = {}
    if upkeep.history:
        did[VERSIONS] = _forgotten(stored, upkeep.history, manifest.number)
    if upkeep.changes:
        did[UPDATES] = _updates_forgotten(TableRun(manifest, cut, known), upkeep.changes)
    published = upkeep.published.get(cut.table)
    did = added(did, tidied(opened(path), upkeep, published, own=True))
    did = added(did, tidied(opened(lake.records(cut.table)), upkeep, own=True))
    stored.update_incremental()
    return TableReceipt(
        table=cut.table,
        topic=cut.topic,
        counts=noted.totals(stored),
        history_version=stored.version(),
        did=did,
    )


def stores(manifest: Manifest) -> Iterator[TableCut]:
    """What a source has besides its tables, each by its path: what landing writes, and the logs."""
    lake = SourceLake(manifest.lake, manifest.source)
    # The log of what is read beside them: those of the watch tidy up after themselves.
    books = (lake.manifests, lake.publications, lake.partitions, lake.gaps)
    for path in (lake.landing, lake.schemas, lake.quarantine, lake.control, *books):
        yield TableCut(path.removeprefix(f"{lake.home}/"), "", ())


def tended(manifest: Manifest, store: TableCut) -> TableReceipt:
    """Tends one of these."""
    upkeep = Upkeep(**manifest.order)
    lake = SourceLake(manifest.lake, manifest.source)
    path = f"{lake.home}/{store.table}"
    did: dict[str, int] = {}
    if path == lake.landing and upkeep.landing:
        did["records forgotten"] = landing.forget(manifest, upkeep.landing)
    did = added(did, tidied(opened(path), upkeep))
    return TableReceipt(store.table, "", Counts(), did=did)


def _forgotten(stored: DeltaTable, before: str, run: int) -> int:
    """Deletes versions that ended before; the last one of a key stays, whether it lives or not.

    It remembers what was deleted: without it an older record that comes late would bring the row
    back. The note says up to when, so that no later run makes them again.
    """
    if fencing.applied(stored) >= run:
        return noted.of_run(stored, run).receipt.did.get(VERSIONS, 0)
    known = noted.last(stored)
    gone = history.ended(stored, before)
    if not gone or known is None:
        return 0
    counts = replace(known.totals, history_rows=known.totals.history_rows - gone)
    receipt = replace(known.receipt, counts=counts, did={VERSIONS: gone})
    history.forget(stored, before, run, replace(known, receipt=receipt, forgotten=before).text())
    return gone


def _updates_forgotten(table: TableRun, before: str) -> int:
    """Deletes updates on record that no version needs any more, be it made again."""
    stored = opened(table.lake.history(table.cut.table))
    last = None if stored is None else noted.last(stored)
    moment = datetime.fromisoformat(before)
    known = [] if last is None or last.forgotten is None else [last.forgotten]
    wanted = max([moment, *map(datetime.fromisoformat, known)])
    gone = table.needless(Horizon(before=moment, wanted=wanted))
    return records.remove(table.lake.records(table.cut.table), gone)


def tidied(
    table: DeltaTable | None,
    upkeep: Upkeep,
    published: int | None = None,
    *,
    own: bool = False,
) -> Mapping[str, int]:
    """VACUUM and OPTIMIZE of a table; `published` is a version that has to stay readable.

    VACUUM comes first: what OPTIMIZE replaces was current until now, and goes another time. Of a
    table that nobody else writes to (`own`) files go as well that no commit has ever added.
    """
    if table is None:
        return {}
    if upkeep.vacuum:
        hours = _kept_hours(table, upkeep.keep_hours, published)
        if hours is not None:
            with fencing.overtaken(table.table_uri):
                table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=own)
    if not upkeep.optimize:
        return {}
    with fencing.overtaken(table.table_uri):
        done = table.optimize.compact()
    return {"files merged": done["numFilesRemoved"], "files made": done["numFilesAdded"]}


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Both counts together."""
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _kept_hours(table: DeltaTable, hours: int, published: int | None) -> int | None:
    """For how long VACUUM is to keep what is no longer current; None where nothing may go.

    A version needs its files from the commit after it on, however long ago that was. VACUUM counts
    from its own clock, so this does, too.
    """
    if published is None or table.version() <= published:
        return hours
    followed = committed_at(table.table_uri, published + 1)
    if followed is None:
        return None
    return max(hours, int((time.time() - followed) / _HOUR) + 2)
