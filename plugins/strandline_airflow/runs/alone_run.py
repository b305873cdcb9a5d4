"""The step of a run in place of Spark, for a source whose engine is `alone`."""

import logging

from strandline.alone.work import work_off as worked_off
from strandline.runs.lake import SourceLake
from strandline_airflow.runs.folder import read_manifest, write_receipt
from strandline_airflow.runs.publications import Publications

log = logging.getLogger(__name__)


def work_off(path: str) -> None:
    """Works the manifest at the path off and leaves its receipt; nothing where the run is over.

    A task that was cleared would apply what was held behind the back of the publication: that is
    for the next run to do.
    """
    manifest = read_manifest(path)
    published = Publications(SourceLake(manifest.lake, manifest.source)).last_number()
    if published >= manifest.number:
        log.info("Run %d of %s is published already", manifest.number, manifest.source)
        return
    log.info("%s", manifest.title)
    write_receipt(manifest, worked_off(manifest))
