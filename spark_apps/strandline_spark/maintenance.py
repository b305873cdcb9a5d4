"""Work `maintain`: what the source's policy no longer keeps goes, many small files become few.

Every step is a pure function of the manifest and may be repeated.
"""

import time
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from strandline.runs.lake import SourceLake
from strandline.runs.manifest import Manifest, TableCut
from strandline.runs.receipt import Counts, Receipt, TableReceipt
from strandline.runs.upkeep import UPDATES, VERSIONS, Upkeep
from strandline_spark import abandoned, delta, forget, noted
from strandline_spark.compaction import attempts, prepare, side_by_side
from strandline_spark.tidy import added, tidied


def maintain(
    spark: SparkSession, manifest: Manifest, cuts: tuple[TableCut, ...] | None = None
) -> Receipt:
    """Tends tables of the manifest, all or these, then the stores of the source."""
    began = time.monotonic()
    lake = SourceLake(manifest.lake, manifest.source)
    prepare(spark, lake)
    upkeep = Upkeep(**manifest.order)
    wanted = manifest if cuts is None else replace(manifest, tables=cuts)
    tables = side_by_side(
        spark, wanted, lambda own, cut: _Tended(own, manifest, cut, upkeep).receipt()
    )
    done = tended(spark, manifest)
    seconds = round(time.monotonic() - began, 3)
    return Receipt(manifest.source, manifest.number, tables, seconds=seconds, stores=done)


def tended(spark: SparkSession, manifest: Manifest) -> tuple[TableReceipt, ...]:
    """Tends what a source has besides its tables."""
    lake, upkeep = SourceLake(manifest.lake, manifest.source), Upkeep(**manifest.order)
    prepare(spark, lake)
    # The log of what is read beside them: those of the watch tidy up after themselves.
    books = (lake.manifests, lake.publications, lake.partitions, lake.gaps)
    stores = [TableCut(p, "", ()) for p in (lake.landing, lake.quarantine, lake.control, *books)]
    return attempts(spark, stores, lambda own, cut: _store(own, manifest, cut.table, upkeep))


@dataclass(frozen=True, slots=True)
class _Tended:
    """One table of the run."""

    spark: SparkSession
    manifest: Manifest
    cut: TableCut
    upkeep: Upkeep

    def receipt(self) -> TableReceipt:
        """Retention first, so that the rest sees its files."""
        lake, table = SourceLake(self.manifest.lake, self.manifest.source), self.cut.table
        history = lake.history(table)
        if not delta.exists(self.spark, history):
            return TableReceipt(table, self.cut.topic, Counts())
        abandoned.forget_before(self.spark, lake, table, self.manifest.number)
        did = self._forget()
        published = self.upkeep.published.get(table)
        did = added(did, tidied(self.spark, history, self.upkeep, published))
        for path in (lake.changes(table), lake.deleted_keys(table), lake.moves(table)):
            did = added(did, tidied(self.spark, path, self.upkeep))
        return TableReceipt(
            table=table,
            topic=self.cut.topic,
            counts=Counts(**noted.last(self.spark, lake, self.cut).totals),
            history_version=delta.version(self.spark, history),
            did=did,
        )

    def _forget(self) -> dict[str, int]:
        did, of = {}, (self.spark, self.manifest, self.cut)
        if self.upkeep.history:
            did[VERSIONS] = forget.versions(*of, self.upkeep.history)
        if self.upkeep.changes:
            did[UPDATES] = forget.changes(*of, self.upkeep.changes)
        return did


def _store(spark: SparkSession, manifest: Manifest, path: str, upkeep: Upkeep) -> TableReceipt:
    lake = SourceLake(manifest.lake, manifest.source)
    did = {}
    if path == lake.landing and upkeep.landing:
        did["records forgotten"] = forget.records(spark, manifest, upkeep.landing)
    did = added(did, tidied(spark, path, upkeep))
    return TableReceipt(path.removeprefix(f"{lake.home}/"), "", Counts(), did=did)
