"""Work `maintain`, spread: see `strandline.alone.orders.maintenance`.

What the source's policy no longer keeps goes, many small files become few. Every step may be
repeated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from strandline.alone.orders.maintenance import stores
from strandline.alone.stores.control import Control
from strandline.alone.stores.landing import forgettable
from strandline.alone.stores.noted import Noted
from strandline.changes.columns import IS_HEAD, VALID_TO
from strandline.law import forgetting
from strandline.law.forgetting import Horizon
from strandline.law.shard import Known
from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, TableReceipt
from strandline.runs.upkeep import UPDATES, VERSIONS, Upkeep
from strandline_spark import delta, landing
from strandline_spark.attempts import attempts, prepare
from strandline_spark.spread.groups import dealt, grouped, joining, most_tasks
from strandline_spark.spread.orders.tidy import added, tidied
from strandline_spark.spread.rows import Landed, chunks, uncollected
from strandline_spark.spread.store import Store, current
from strandline_spark.spread.table import TableRun

_PLACE = pa.schema([("topic_id", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])


def maintained(
    spark: SparkSession, manifest: Manifest, cut: TableCut, known: Control
) -> TableReceipt:
    """Tends a table's history and records; retention first, so that the rest sees its files."""
    return _Tended(spark, manifest, cut, known).receipt()


def tended(spark: SparkSession, manifest: Manifest) -> tuple[TableReceipt, ...]:
    """Tends what the source has besides its tables: landing, quarantine, and the logs."""
    prepare(spark, SourceLake(manifest.lake, manifest.source))

    def tend(own: SparkSession, store: TableCut) -> TableReceipt:
        return _store(own, manifest, store)

    return attempts(spark, manifest, stores(manifest), tend)


def _store(spark: SparkSession, manifest: Manifest, store: TableCut) -> TableReceipt:
    upkeep = Upkeep(**manifest.order)
    lake = SourceLake(manifest.lake, manifest.source)
    path = f"{lake.home}/{store.table}"
    did: dict[str, int] = {}
    if path == lake.landing and upkeep.landing:
        did["records forgotten"] = _records_forgotten(spark, manifest, upkeep.landing)
    did = added(did, tidied(spark, path, upkeep))
    return TableReceipt(store.table, "", Counts(), did=did)


def _records_forgotten(spark: SparkSession, manifest: Manifest, before: str) -> int:
    """Deletes records that were landed before that day and are applied, but for those refused.

    What lies in quarantine is read again from landing one day.
    """
    lake = SourceLake(manifest.lake, manifest.source)
    day = F.lit(before).cast("date")
    landed = landing.records(spark, lake.landing, manifest.landing_version, forgettable(manifest))
    refused = delta.read(spark, lake.quarantine).select(*_PLACE.names)
    old = landed.where(F.col("landed_date") < day)
    gone = old.join(refused, _PLACE.names, "left_anti").select(*_PLACE.names)
    return delta.remove(spark, lake.landing, gone, F.col("t.landed_date") < day)


class _Tended(TableRun):
    """One table of the run."""

    def receipt(self) -> TableReceipt:
        """What was done."""
        upkeep, table = Upkeep(**self.manifest.order), self.cut.table
        if not delta.exists(self.spark, self.history):
            return TableReceipt(table, self.cut.topic, Counts())
        applied = delta.applied(self.spark, self.history)
        store = Store(self.spark, self.lake.records(table), applied, self.run)
        store.forget_failed()
        did: dict[str, int] = {}
        if upkeep.history:
            did[VERSIONS] = self._versions(upkeep.history)
        if upkeep.changes and store.exists():
            did[UPDATES] = self._updates(store, upkeep.changes)
        published = upkeep.published.get(table)
        did = added(did, tidied(self.spark, self.history, upkeep, published))
        did = added(did, tidied(self.spark, store.uri, upkeep))
        version = delta.version(self.spark, self.history)
        return TableReceipt(table, self.cut.topic, self.totals(), history_version=version, did=did)

    def _versions(self, before: str) -> int:
        """Deletes versions that ended before; the last one of a key stays, whether it lives or not.

        It remembers what was deleted: without it an older record that comes late would bring the
        row back. The note says up to when, so that no later run makes them again.
        """
        path = self.history
        if delta.applied(self.spark, path) >= self.run:
            done = Noted.from_text(delta.metadata(self.spark, path, self.run))
            return done.receipt.did.get(VERSIONS, 0)
        known = self.before()
        ended = ~F.col(IS_HEAD) & (F.col(VALID_TO) < F.lit(before).cast("timestamp"))
        gone = delta.read(self.spark, path).where(ended).count()
        if not gone or known is None:
            return 0
        counts = replace(known.totals, history_rows=known.totals.history_rows - gone)
        receipt = replace(known.receipt, counts=counts, did={VERSIONS: gone})
        note = replace(known, receipt=receipt, forgotten=before)
        with delta.fenced(self.spark, self.run, note.text()):
            delta.delete(self.spark, path, ended)
        return gone

    def _updates(self, store: Store, before: str) -> int:
        """Deletes updates on record that no version needs any more, be it made again."""
        last, moment = self.before(), datetime.fromisoformat(before)
        forgotten = None if last is None else last.forgotten
        wanted = moment if forgotten is None else max(moment, datetime.fromisoformat(forgotten))
        known = self.known(store)
        every = current(store.known(), known.facts)
        rows = grouped(every.where("entry_key IS NOT NULL"), joining(every))
        needless = _Needless(known, Horizon(before=moment, wanted=wanted))
        ordered = dealt(rows, most_tasks(self.spark))
        places = ordered.mapInArrow(needless, from_arrow_schema(_PLACE))
        return delta.remove(self.spark, store.uri, places, F.lit(True))


@dataclass(frozen=True, slots=True)
class _Needless:
    """Finds the places of updates that no version of their groups needs."""

    known: Known
    horizon: Horizon

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        topic, now = self.known.making.topic, self.known.announced
        with uncollected():
            for rows in chunks(batches):
                records = Landed.of(rows).pile(topic).records
                found = forgetting.needless(
                    lambda _: self.known.table(), records, now, self.horizon
                )
                told = [
                    {"topic_id": at.topic_id, "partition": at.partition, "offset": at.offset}
                    for at in found
                ]
                yield from pa.Table.from_pylist(told, schema=_PLACE).to_batches()
