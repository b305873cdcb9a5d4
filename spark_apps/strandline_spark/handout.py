"""The tables of a run that go alone, handed out: one job, of which each task takes whole tables.

So hundreds of small tables cost one job of Spark, and all executors share them. What a task does
twice, after a retry or by speculation, has one effect: every commit of a run is fenced.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pyspark.sql import SparkSession

from strandline.alone.choice import Choice
from strandline.alone.stores.control import Control
from strandline.alone.stores.tables import STORAGE_VARIABLE
from strandline.alone.work import done
from strandline.changes.record import Record
from strandline.errors import BeyondAloneError
from strandline.runs.manifest import Manifest
from strandline.runs.receipt import TableReceipt

log = logging.getLogger(__name__)

_MOST_TASKS = 1_000
_LINE = "%(asctime)s %(threadName)s %(message)s"

Kept = Sequence[tuple[int, Record]]


def handed_out(spark: SparkSession, manifest: Manifest, known: Control) -> Iterator[TableReceipt]:
    """The receipts of the tables that went alone; those that have to be spread have none."""
    wanted = []
    choice = Choice(manifest)
    for number, cut in enumerate(manifest.tables):
        why = choice.against(cut)
        if why is None:
            wanted.append(number)
        else:
            log.info("%s: is spread over many tasks, since %s", cut.table, why)
    if not wanted:
        return
    tasks = spark.sparkContext.parallelize(wanted, min(len(wanted), _MOST_TASKS))
    options = os.environ.get(STORAGE_VARIABLE)
    work = partial(_taken, manifest.to_json(), known.kept, known.records, options)
    for number, found in tasks.mapPartitions(work).collect():
        if isinstance(found, TableReceipt):
            yield found
        else:
            log.info("%s: is spread, since %s", manifest.tables[number].table, found)


def _taken(
    manifest: str, kept: Kept, records: int, options: str | None, numbers: Iterable[int]
) -> Iterator[tuple[int, TableReceipt | str]]:
    """In a task: each table by its number, with its receipt, or why it is not to go alone."""
    logging.basicConfig(level=logging.INFO, format=_LINE)  # of a worker that has none yet
    if options is not None:
        os.environ.setdefault(STORAGE_VARIABLE, options)
    run = Manifest.from_json(manifest)
    known = Control(run, tuple(kept), records)
    for number in numbers:
        try:
            yield number, done(run, run.tables[number], known)
        except BeyondAloneError as error:
            yield number, str(error)
