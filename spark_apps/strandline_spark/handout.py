"""The tables of a run that go alone, handed out: one job, of which each task takes whole tables.

So hundreds of small tables cost one job of Spark, and all executors share them. What a task does
twice, after a retry or by speculation, has one effect: every commit of a run is fenced.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import SparkSession

from strandline.alone.choice import Choice
from strandline.alone.stores.control import Control
from strandline.alone.stores.tables import STORAGE_VARIABLE
from strandline.alone.work import done
from strandline.changes.record import Record
from strandline.errors import BeyondAloneError
from strandline.formats.registry.schemas import Schemas
from strandline.runs.manifest import Manifest, TableCut, Work
from strandline.runs.receipt import Counts, TableReceipt
from strandline.runs.way import Way
from strandline_spark.faults import strange_python

log = logging.getLogger(__name__)

_MOST_TASKS = 1_000
_LINE = "%(asctime)s %(levelname)s %(message)s"

_Done = tuple[int, TableReceipt | str]  # the table's number, and why if it did not go alone
_Receipts = tuple[TableReceipt, ...]


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
    heard = spark.sparkContext.accumulator((), _Heard(manifest.work))
    options = os.environ.get(STORAGE_VARIABLE)
    task = _Task(done, manifest.to_json(), known.kept, known.records, known.schemas, options, heard)
    job = partial(_job, spark, task)
    try:
        found = job(wanted)
    except Py4JJavaError as error:
        strange = strange_python(str(error.java_exception))
        if strange is not None:
            raise strange from error
        # A table that ends its worker ends the job. What was done is found done.
        log.warning("The tables are taken one by one, since %s", _first_line(error))
        found = [each for number in wanted for each in _attempted(job, manifest, number)]
    for number, receipt in found:
        if isinstance(receipt, TableReceipt):
            yield receipt
        else:
            log.info("%s: is spread, since %s", manifest.tables[number].table, receipt)


def _job(spark: SparkSession, task: "_Task", numbers: Sequence[int]) -> list[_Done]:
    tables = spark.sparkContext.parallelize(numbers, min(len(numbers), _MOST_TASKS))
    return tables.mapPartitions(task).collect()


def _attempted(
    job: Callable[[Sequence[int]], list[_Done]], manifest: Manifest, number: int
) -> list[_Done]:
    """One table in a job of its own; what ends its worker again holds this table only."""
    try:
        return job([number])
    except Py4JJavaError as error:
        cut = manifest.tables[number]
        log.exception("%s: failed", cut.table)
        failed = TableReceipt(
            cut.table,
            cut.topic,
            Counts(),
            error=_first_line(error),
            transient=True,
            way=Way.ALONE,
        )
        failed.tell(log, manifest.work)
        return [(number, failed)]


def _first_line(error: Py4JJavaError) -> str:
    return str(error.java_exception).splitlines()[0]


class _Heard(AccumulatorParam[_Receipts]):
    """What tasks have done, told in the driver's log as soon as Spark hears that one has ended.

    Wherever the executors are: their own logs are elsewhere in a cluster.
    """

    def __init__(self, work: Work | None = None) -> None:
        self._work = work

    def __reduce__(self) -> tuple[type["_Heard"], tuple[()]]:
        return _Heard, ()  # in a task, which gathers and tells nobody

    def zero(self, value: _Receipts) -> _Receipts:
        """See `AccumulatorParam`."""
        del value
        return ()

    def addInPlace(self, value1: _Receipts, value2: _Receipts) -> _Receipts:  # noqa: N802
        """See `AccumulatorParam`."""
        if self._work is None:
            return (*value1, *value2)
        for receipt in value2:
            receipt.tell(log, self._work)
        return ()


@dataclass(frozen=True, slots=True)
class _Task:
    """What a task is given besides the numbers of its tables; `options` are delta-rs's."""

    work: Callable[[Manifest, TableCut, Control], TableReceipt]
    manifest: str
    kept: Sequence[tuple[int, Record]]
    records: int
    schemas: Schemas
    options: str | None
    heard: Accumulator[_Receipts]

    def __call__(self, numbers: Iterable[int]) -> Iterator[_Done]:
        """What was done to each table."""
        logging.basicConfig(format=_LINE)  # of a worker that has none yet
        if self.options is not None:
            os.environ.setdefault(STORAGE_VARIABLE, self.options)
        run = Manifest.from_json(self.manifest)
        known = Control(run, tuple(self.kept), self.records, self.schemas)
        for number in numbers:
            try:
                made = self.work(run, run.tables[number], known)
                self.heard.add((made,))
                yield number, made
            except BeyondAloneError as error:
                yield number, str(error)
