"""The steps of an order around Spark: the plan, told and put on record; see `orders`."""

import logging
from datetime import UTC, datetime

from strandline.runs.lake import SourceLake
from strandline.sources.source import Source
from strandline_airflow.runs import orders
from strandline_airflow.runs.folder import clock, write_manifest
from strandline_airflow.runs.manifests import Manifests
from strandline_airflow.runs.orders import Order

log = logging.getLogger(__name__)


def plan(source: Source, order: Order, run_after: datetime, *, dry: bool) -> str | None:
    """The path of the order's manifest; None where only the plan was asked for.

    Raises `Transient` while another run is open.
    """
    for line in order.lines:
        log.info("%s", line)
    if dry:
        log.info(orders.DRY)
        return None
    planned_at = run_after.astimezone(UTC).isoformat(timespec="microseconds")
    manifests = Manifests(SourceLake(source.lake, source.name))
    manifest = manifests.order(source, planned_at, order, clock())
    log.info("%s", manifest.title)
    return write_manifest(manifest)
