"""The steps of one compaction run around Spark: plan the cut before, publish after.

An order is published by the same steps; a compaction that finds one open finishes it.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from strandline.errors import Terminal, Transient
from strandline.runs import cut
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, Work
from strandline.runs.receipt import Receipt, TableReceipt
from strandline.sources.source import Source
from strandline_airflow import metrics
from strandline_airflow.landing.zone import LandingZone
from strandline_airflow.ledger import Look
from strandline_airflow.runs import orders
from strandline_airflow.runs.folder import clock, read_manifest, read_receipt, write_manifest
from strandline_airflow.runs.manifests import Manifests
from strandline_airflow.runs.publications import Publications, applied
from strandline_airflow.runs.published import Published

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of a publication whose tables changed, with their lags; the tables that failed.

    `withheld` says of each table that the run has worked on why the gate withholds what it made. A
    lag is a number of offsets that are landed, but not applied. `work` is what the run was to do.
    `waiting` has the lags of all topics that the next run would apply: of none that is held, since
    it may fail on that again.
    """

    work: Work
    changed: tuple[tuple[Published, int], ...]
    failed: tuple[TableReceipt, ...]
    withheld: tuple[str, ...]
    waiting: Mapping[str, int]


def plan(source: Source, run_after: datetime) -> str | None:
    """The path of the manifest to work off now; None where nothing new has landed."""
    planned_at = run_after.astimezone(UTC).isoformat(timespec="microseconds")
    manifest = Manifests(SourceLake(source.lake, source.name)).next(source, planned_at, clock())
    if manifest is None:
        return None
    log.info("%s; landed up to version %d", manifest.title, manifest.landing_version)
    if manifest.work is not Work.COMPACT:
        log.info("It was ordered before and is finished first: what landed waits for the next run")
    return write_manifest(manifest)


def publish(manifest_path: str) -> Outcome:
    """Puts on record what the run did; doing it again changes nothing and says the same."""
    manifest = read_manifest(manifest_path)
    receipt = read_receipt(manifest)
    lake = SourceLake(manifest.lake, manifest.source)
    publications = Publications(lake, Look())
    news = publications.publish(manifest, receipt, clock())
    log.info(
        "Run %d of %s %s; it began at %s",
        manifest.number,
        manifest.source,
        "published" if news else "was published",
        manifest.began_at or manifest.planned_at,
    )
    for table in (*receipt.tables, *receipt.stores):
        table.tell(log, manifest.work)
    last, landed = publications.last(), LandingZone(lake).landed()
    own = [row for row in last if row.number == manifest.number]
    metrics.send(metrics.of_run(manifest, receipt, _seconds(own, receipt)))
    withheld = tuple(_withheld(manifest, own))
    for line in withheld:
        log.warning("%s", line)
    held = {row.topic for row in last if row.held}
    waiting = cut.waiting(landed, applied(last))
    return Outcome(
        work=manifest.work,
        changed=tuple((row, row.lag(landed)) for row in own if row.changed),
        failed=tuple(
            table for table in (*receipt.tables, *receipt.stores) if table.error is not None
        ),
        withheld=withheld,
        waiting={topic: offsets for topic, offsets in waiting.items() if topic not in held},
    )


def _seconds(rows: Iterable[Published], receipt: Receipt) -> float:
    """How long a published run took from its plan on; its work alone where nobody noted that."""
    times = next(((row.began_at, row.published_at) for row in rows), (None, None))
    began, published = (each and datetime.fromisoformat(each) for each in times)
    return (published - began).total_seconds() if began and published else receipt.seconds


def _withheld(manifest: Manifest, rows: Iterable[Published]) -> Iterator[str]:
    worked_on = {cut.topic for cut in manifest.tables}
    return (row.withheld.why for row in rows if row.withheld and row.topic in worked_on)


def refuse(
    source: str, work: Work, failed: Iterable[TableReceipt], withheld: Iterable[str] = ()
) -> None:
    """Raises where tables failed: `Transient` if the next run may do better by itself.

    What an order has failed on nobody does later, so that is `Terminal`, with the DAG that does. A
    compaction has failed, too, where the gate withholds what it made of a table.
    """
    tables, gated = list(failed), list(withheld) if work is Work.COMPACT else []
    if not tables and not gated:
        return
    text = "; ".join(f"{table.table}: {table.error}" for table in tables)
    if gated:
        raise Terminal("; ".join([*([f"not applied: {text}"] if tables else []), *gated]))
    if work is not Work.COMPACT:
        again = orders.dag_id(source, work)
        raise Terminal(f"{work} was not done: {text}; mend it and trigger {again} again")
    if all(table.transient for table in tables):
        raise Transient(f"not applied, the next run tries again: {text}")
    raise Terminal(f"not applied, their records stay landed for the next run: {text}")
