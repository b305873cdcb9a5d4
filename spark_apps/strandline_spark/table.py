"""One table of a run: the stages in their order, from landed bytes to the commit of its history."""

import json
import time
from dataclasses import asdict, dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from strandline.lake import SourceLake
from strandline.manifest import Manifest, TableCut
from strandline.receipt import Counts, TableReceipt
from strandline_spark import (
    apply,
    audit,
    changes,
    decode,
    delta,
    documents,
    fences,
    heads,
    landing,
    moves,
    verdict,
)
from strandline_spark.connectors import CONNECTORS, Connector
from strandline_spark.control import Told
from strandline_spark.decode import Decoder
from strandline_spark.derive import Context, Derived, derive
from strandline_spark.distinct import distinct_fences
from strandline_spark.fold import Columns
from strandline_spark.heads import Standing, Touched
from strandline_spark.shape import Known, shape


@dataclass(frozen=True, slots=True)
class Tally:
    """What the records of a batch turned out to be, as counted in the pass that decodes them."""

    landed: int
    changes: int
    fences: int
    tombstones: int
    control: int
    quarantined: int
    moves: int
    reads: int

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of changes in the batch, as `changes.kinds` names them."""
        counted = {"fence": self.fences, "move": self.moves}
        return frozenset(kind for kind, number in counted.items() if number)


@dataclass(frozen=True, slots=True)
class TableRun:
    """One table's part of a manifest; `spark` is a session of its own."""

    spark: SparkSession
    manifest: Manifest
    cut: TableCut
    told: Told
    refused: bool  # whether earlier runs put records of the table into quarantine

    @property
    def connector(self) -> Connector:
        return CONNECTORS[self.manifest.connector]

    @property
    def lake(self) -> SourceLake:
        return SourceLake(self.manifest.lake, self.manifest.source)

    @property
    def run(self) -> int:
        return self.manifest.number

    def compact(self) -> TableReceipt:
        """Applies what was landed; raises what goes wrong, having committed no history."""
        began = time.monotonic()
        history = self.lake.history(self.cut.table)
        if delta.applied(self.spark, history) >= self.run:
            return self._totalled(_receipt(delta.metadata(self.spark, history, self.run)))
        before = delta.version(self.spark, history)
        tally = self._decode() if self.cut.ranges else Tally(*([0] * len(Tally.__slots__)))
        receipt = TableReceipt(
            table=self.cut.table,
            topic=self.cut.topic,
            counts=Counts(
                landed=tally.landed, control=tally.control, quarantined=tally.quarantined
            ),
            history_version=before,
        )
        swept = self._sweep(tally)
        if swept or tally.changes + tally.fences + tally.tombstones:
            receipt = self._fold(tally, receipt, swept=swept)
        elif before >= 0:
            receipt = self._totalled(receipt)
        return replace(receipt, seconds=round(time.monotonic() - began, 3))

    # ------------------------------------------------------------------ decode

    def _decode(self) -> Tally:
        path = self.lake.changes(self.cut.table)
        landed = landing.records(
            self.spark, self.lake.landing, self.manifest.landing_version, self.cut.ranges
        )
        parsed = decode.parsed(landed, self.cut.rules)
        schemas = documents.distinct_schemas(parsed)
        known = Known(
            self.cut.topic,
            self.cut.rules,
            changes.stored_types(self.spark, path),
            self.told.columns,
        )
        of = shape(parsed, schemas, self.connector.rules, known)
        flat = [number for number, pair in schemas.items() if pair.flat]
        decoded = Decoder(of, self.connector, self.cut.rules, self.run).decode(parsed, flat)
        if delta.applied(self.spark, path) >= self.run:
            tally = Tally(**decoded.agg(*_tallied()).first().asDict())
        else:
            seen = Observation(f"decode {self.cut.table}")
            changes.store(decoded.observe(seen, *_tallied()), path, of.names, self.run)
            tally = Tally(**seen.get)
        if tally.quarantined:
            self._quarantine(decoded)
        return tally

    def _quarantine(self, decoded: DataFrame) -> None:
        rows = decoded.where(F.col("_class") == verdict.QUARANTINED).select(
            F.lit(self.cut.table).alias("table"),
            "topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers",
            F.col("_key").alias("record_key"), F.col("_reason").alias("reason"),
            F.col("_detail").alias("detail"), F.lit(self.run).alias("run"),
        )  # fmt: skip
        delta.append(rows, self.lake.quarantine, self.run, f"{delta.APPLICATION}/{self.cut.table}")

    def _sweep(self, tally: Tally) -> bool:
        """Puts the fences of complete snapshots on record; True where there are new ones.

        Looked for where a snapshot has just been completed, or its reads have just arrived.
        """
        path = self.lake.changes(self.cut.table)
        wanted = self.told.snapshots if tally.reads else self.told.fresh
        if not (self.cut.rules.sweep and wanted and delta.exists(self.spark, path)):
            return False
        every = self._every()
        old = every.where(F.col("_op") == fences.SWEEP).select("_seq", "_scope", "_run")
        same = F.col("n._seq").eqNullSafe(F.col("o._seq"))
        same &= F.col("n._scope").eqNullSafe(F.col("o._scope"))
        found = fences.sweeps(every, wanted, self.run).dropDuplicates(["_seq", "_scope"])
        new = found.alias("n").join(old.alias("o"), same, "left_anti").localCheckpoint()
        if new.isEmpty():
            # A run that died after this point has put its own on record already.
            return not old.where(F.col("_run") == self.run).isEmpty()
        delta.append(new, path, self.run, f"{delta.APPLICATION}/{fences.SWEEP}")
        return True

    def _every(self) -> DataFrame:
        """All deliveries that count: this run's, and those of runs that were applied."""
        applied = delta.applied(self.spark, self.lake.history(self.cut.table))
        path = self.lake.changes(self.cut.table)
        return changes.known(self.spark, path, run=self.run, applied=applied)

    # ------------------------------------------------------------------ fold

    def _fold(self, tally: Tally, receipt: TableReceipt, *, swept: bool) -> TableReceipt:
        applied = delta.applied(self.spark, self.lake.history(self.cut.table))
        every = self._every()
        kinds = changes.kinds(every) if applied >= 0 or swept else tally.kinds
        cuts = distinct_fences(every) if "fence" in kinds else None
        rows = every.where(F.col("_kind") != "fence")
        if self.connector.rules.infers_moves:
            rows, inferred = self._announced(rows)
            kinds |= {"move"} if inferred else set()
        standing = self._standing(rows, kinds, cuts, applied)
        context = Context(
            run=self.run,
            columns=self._columns(every),
            fences=cuts,
            recorded_at=self.manifest.planned_at,
            rules=self.connector.rules,
            everything=rows,
            refused=self._refused() if self.refused or tally.quarantined else None,
        )
        if standing.history is None:
            keys, derived = None, derive(rows, context, moves=standing.moves is not None)
        else:
            keys = heads.touched(rows.where(F.col("_run") == self.run), standing)
            derived = self._derived(rows, keys, standing, context)
        versions = derived.versions.persist()
        try:
            written = audit.well_formed(versions, self.cut.topic)
            counts = self._counts(receipt.counts, tally, derived, cuts)
            audit.conserved(counts, self.cut.topic)
            if written.heads < (derived.keys if keys is None else keys.count):
                delta.append(derived.unseen, self.lake.deleted_keys(self.cut.table), self.run)
            receipt = replace(
                receipt,
                counts=replace(
                    counts,
                    rows_written=written.rows,
                    history_rows=written.rows,
                    current_rows=written.live,
                ),
                changed=True,
                orphaned_moves=derived.orphans,
            )
            self._apply(versions, keys, receipt)
        finally:
            versions.unpersist()
            derived.release()
        return self._totalled(receipt) if keys is not None else self._versioned(receipt)

    def _refused(self) -> DataFrame:
        """Key and coordinates of the table's records in quarantine."""
        found = delta.read(self.spark, self.lake.quarantine)
        own = (F.col("table") == self.cut.table) & F.col("record_key").isNotNull()
        return found.where(own).select(
            F.col("record_key").alias("_key"),
            F.col("topic_id").alias("_topic_id"),
            F.col("partition").alias("_partition"),
            F.col("offset").alias("_offset"),
        )

    def _columns(self, every: DataFrame) -> Columns:
        json = changes.business_columns(every)
        return Columns(json, self.cut.rules.tracked(tuple(json)))

    def _announced(self, rows: DataFrame) -> tuple[DataFrame, bool]:
        """The changes with the key moves that no header announced; whether there are any."""
        path = self.lake.moves(self.cut.table)
        found = moves.halves(rows, self.run).localCheckpoint()
        if not found.isEmpty():
            delta.append(found, path, self.run)
        if not delta.exists(self.spark, path):
            return rows, False
        return moves.announced(rows, delta.read(self.spark, path)), True

    def _standing(
        self, rows: DataFrame, kinds: frozenset[str], cuts: DataFrame | None, applied: int
    ) -> Standing:
        history = self.lake.history(self.cut.table)
        deleted = self.lake.deleted_keys(self.cut.table)
        known = applied >= 0
        late = known and delta.exists(self.spark, deleted)
        new_cuts = None if cuts is None else cuts.where(F.col("_run") == self.run)
        return Standing(
            history=delta.read(self.spark, history) if known else None,
            deleted_keys=delta.read(self.spark, deleted) if late else None,
            moves=rows.where(F.col("_kind") == "move") if "move" in kinds else None,
            new_fences=new_cuts,
            shifts=self.connector.rules.shifts,
        )

    def _derived(
        self, rows: DataFrame, keys: Touched, standing: Standing, context: Context
    ) -> Derived:
        moving = standing.moves is not None
        parts = []
        if keys.count > keys.rederived or not keys.count:
            appended = keys.rows.where(~F.col("rederive"))
            batch = rows.where(F.col("_run") == self.run).join(appended, "_key", "left_semi")
            base = standing.history.where("_is_head").join(appended, "_key", "left_semi")
            parts.append(derive(batch, context, heads=base))
        if keys.rederived:
            rederived = keys.rows.where("rederive")
            parts.append(derive(rows.join(rederived, "_key", "left_semi"), context, moves=moving))
        return reduce(Derived.with_, parts)

    def _counts(
        self, counts: Counts, tally: Tally, derived: Derived, cuts: DataFrame | None
    ) -> Counts:
        absorbed = tally.tombstones - derived.lone_tombstones
        distinct = derived.distinct
        if tally.fences and cuts is not None:
            distinct += cuts.where((F.col("_run") == self.run) & ~F.col("_sweep")).count()
        delivered = tally.changes + tally.tombstones - absorbed + tally.fences
        return replace(
            counts,
            changes=distinct,
            control=counts.control + absorbed,
            duplicates=delivered - distinct,
        )

    # ------------------------------------------------------------------ apply

    def _apply(self, versions: DataFrame, keys: Touched | None, receipt: TableReceipt) -> None:
        path = self.lake.history(self.cut.table)
        apply.ensure(versions, path)
        with delta.fenced(self.spark, self.run, json.dumps(asdict(receipt))):
            if keys is None:
                apply.append(versions, path)
            else:
                apply.replace(versions, keys, path)

    def _totalled(self, receipt: TableReceipt) -> TableReceipt:
        """The receipt with the table's version and rows after this run."""
        path = self.lake.history(self.cut.table)
        after = delta.read(self.spark, path)
        rows = after.agg(F.count("*").alias("all"), F.count_if("_is_current").alias("open")).first()
        counts = replace(receipt.counts, history_rows=rows["all"], current_rows=rows["open"])
        return self._versioned(replace(receipt, counts=counts))

    def _versioned(self, receipt: TableReceipt) -> TableReceipt:
        path = self.lake.history(self.cut.table)
        return replace(receipt, history_version=delta.version(self.spark, path))


def _receipt(text: str) -> TableReceipt:
    fields = json.loads(text)
    return TableReceipt(counts=Counts(**fields.pop("counts")), **fields)


def _tallied() -> list[Column]:
    kind = F.col("_class")
    of = {
        "changes": kind == verdict.CHANGE,
        "fences": kind == verdict.FENCE,
        "tombstones": kind == verdict.TOMBSTONE,
        "control": kind == verdict.CONTROL,
        "quarantined": kind == verdict.QUARANTINED,
        "moves": (kind == verdict.CHANGE) & (F.col("_kind") == "move"),
        "reads": F.col("_emitted").isNotNull(),
    }
    return [
        F.count(F.lit(1)).alias("landed"),
        *(F.count_if(condition).alias(name) for name, condition in of.items()),
    ]
