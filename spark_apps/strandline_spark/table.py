"""One table of a run: the stages in their order, from landed bytes to the commit of its history."""

import json
import time
from dataclasses import asdict, dataclass, fields, replace
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
    delta,
    fences,
    heads,
    in_flight,
    intake,
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
from strandline_spark.intake import Shared
from strandline_spark.memory import kept
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
    in_flight: int

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of changes in the batch, as `changes.kinds` names them."""
        counted = {"fence": self.fences, "move": self.moves, changes.IN_FLIGHT: self.in_flight}
        return frozenset(kind for kind, number in counted.items() if number)


@dataclass(frozen=True, slots=True)
class Batch:
    """What arrived: its tally and, unless it is large, its changes in memory."""

    tally: Tally
    changes: DataFrame | None


NOTHING = Batch(Tally(*([0] * len(fields(Tally)))), None)


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What versions follow from: the table's row changes, and `new`, those of this run.

    `fences` and `moves` are None where there are none; `kinds` are the rare kinds of changes that
    the table has had (`changes.kinds`).
    """

    rows: DataFrame
    new: DataFrame
    fences: DataFrame | None
    moves: DataFrame | None
    kinds: frozenset[str]

    @property
    def flying(self) -> bool:
        """Whether some stood in a transaction that was open at the connector's start."""
        return changes.IN_FLIGHT in self.kinds


@dataclass(frozen=True, slots=True)
class Noted:
    """What a run leaves with its commit of the history, for the next one to go on from.

    `kinds` are the rare kinds of changes that the table has ever had (`changes.kinds`).
    """

    receipt: TableReceipt
    kinds: frozenset[str]

    def text(self) -> str:
        """As JSON."""
        return json.dumps({"receipt": asdict(self.receipt), "kinds": sorted(self.kinds)})

    @staticmethod
    def from_text(text: str) -> "Noted | None":
        """What `text` wrote; None where it was written by a release that noted less."""
        told = json.loads(text)
        if "kinds" not in told:
            return None
        counts = Counts(**told["receipt"].pop("counts"))
        return Noted(TableReceipt(counts=counts, **told["receipt"]), frozenset(told["kinds"]))


@dataclass(frozen=True, slots=True)
class TableRun:
    """One table's part of a manifest; `spark` is a session of its own.

    `refused`: whether earlier runs put records of the table into quarantine; `small`: whether what
    arrived is quicker kept than read again; `shared`: where it was read with that of other tables.
    """

    spark: SparkSession
    manifest: Manifest
    cut: TableCut
    told: Told
    refused: bool
    small: bool
    shared: Shared | None = None

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
        applied = delta.applied(self.spark, history)
        if applied >= self.run:
            noted = Noted.from_text(delta.metadata(self.spark, history, self.run)) or self.before()
            return self._versioned(noted.receipt)
        batch = self._decode() if self.cut.ranges else NOTHING
        tally = batch.tally
        receipt = TableReceipt(
            table=self.cut.table,
            topic=self.cut.topic,
            counts=Counts(
                landed=tally.landed, control=tally.control, quarantined=tally.quarantined
            ),
        )
        sweeps = self._sweeps(batch, applied)
        if sweeps is not None or tally.changes + tally.fences + tally.tombstones:
            receipt = self._fold(batch, sweeps, applied, receipt)
        elif applied >= 0:
            counts = self.before().receipt.counts
            receipt = _with_totals(receipt, counts.history_rows, counts.current_rows)
            receipt = self._versioned(receipt)
        return replace(receipt, seconds=round(time.monotonic() - began, 3))

    # ------------------------------------------------------------------ decode

    def landed(self) -> DataFrame:
        """The records of the run."""
        return landing.records(
            self.spark, self.lake.landing, self.manifest.landing_version, self.cut.ranges
        )

    def _decode(self) -> Batch:
        path = self.lake.changes(self.cut.table)
        if self.shared is None:
            parsed, schemas = intake.parsed(self.landed(), self.cut)
        else:
            parsed, schemas = self.shared.of(self.spark, self.cut)
        known = Known(
            self.cut.topic,
            self.cut.rules,
            changes.stored_types(self.spark, path),
            self.told.columns,
        )
        of = shape(parsed, schemas, self.connector.rules, known)
        flat = [number for number, pair in schemas.items() if pair.flat]
        decoded = Decoder(of, self.connector, self.cut.rules, self.run).decode(parsed, flat)
        if self.small:
            decoded = kept(decoded)
        stored = delta.applied(self.spark, path) >= self.run
        if stored:
            tally = Tally(**decoded.agg(*_tallied()).first().asDict())
        else:
            seen = Observation(f"decode {self.cut.table}")
            changes.store(decoded.observe(seen, *_tallied()), path, of.names, self.run)
            tally = Tally(**seen.get)
        if tally.quarantined:
            self._quarantine(decoded)
        if stored or not self.small:
            return Batch(tally, None)
        return Batch(tally, changes.like(decoded, delta.read(self.spark, path).schema))

    def _quarantine(self, decoded: DataFrame) -> None:
        rows = decoded.where(F.col("_class") == verdict.QUARANTINED).select(
            F.lit(self.cut.table).alias("table"),
            "topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers",
            F.col("_key").alias("record_key"), F.col("_reason").alias("reason"),
            F.col("_detail").alias("detail"), F.lit(self.run).alias("run"),
        )  # fmt: skip
        delta.append(rows, self.lake.quarantine, self.run, f"{delta.APPLICATION}/{self.cut.table}")

    def _sweeps(self, batch: Batch, applied: int) -> DataFrame | None:
        """The fences of complete snapshots, put on record; None where there are no new ones.

        Looked for where a snapshot has just been completed, or its reads have just arrived.
        """
        path = self.lake.changes(self.cut.table)
        wanted = self.told.snapshots if batch.tally.reads else self.told.fresh
        if not (self.cut.rules.sweep and wanted and delta.exists(self.spark, path)):
            return None
        every = self._every(batch, applied)
        old = every.where(F.col("_op") == fences.SWEEP)
        same = F.col("n._seq").eqNullSafe(F.col("o._seq"))
        same &= F.col("n._scope").eqNullSafe(F.col("o._scope"))
        found = fences.sweeps(every, wanted, self.run)
        new = kept(found.alias("n").join(old.alias("o"), same, "left_anti"))
        if new.isEmpty():
            # A run that died after this point has put its own on record already.
            mine = old.where(F.col("_run") == self.run)
            return None if mine.isEmpty() else mine
        delta.append(new, path, self.run, f"{delta.APPLICATION}/{fences.SWEEP}")
        return new

    def _every(self, batch: Batch, applied: int) -> DataFrame:
        """All deliveries that count: this run's, and those of runs that were applied."""
        if applied < 0 and batch.changes is not None:
            return batch.changes
        path = self.lake.changes(self.cut.table)
        return changes.known(self.spark, path, run=self.run, applied=applied)

    # ------------------------------------------------------------------ fold

    def _fold(
        self, batch: Batch, sweeps: DataFrame | None, applied: int, receipt: TableReceipt
    ) -> TableReceipt:
        before = self.before() if applied >= 0 else None
        known = self._deliveries(self._every(batch, applied), batch, sweeps, before)
        context = self._context(known, batch.tally)
        if before is None:
            keys, gone = None, (0, 0)
            derived = derive(known.rows, context, moves=known.moves is not None)
        else:
            standing = self.standing(known, batch.tally, swept=sweeps is not None)
            keys = heads.touched(known.new, standing)
            gone = heads.replaced(keys, standing)
            derived = self._derived(known, keys, standing, context)
        try:
            versions = kept(derived.versions)  # a merge reads them twice
            written = audit.well_formed(versions, self.cut.topic)
            counts = self._counts(receipt.counts, batch.tally, derived, known.fences)
            audit.conserved(counts, self.cut.topic)
            if written.heads < (derived.keys if keys is None else keys.count):
                delta.append(derived.unseen, self.lake.deleted_keys(self.cut.table), self.run)
            old = Counts() if before is None else before.receipt.counts
            receipt = replace(
                receipt,
                counts=replace(
                    counts,
                    rows_written=written.rows,
                    history_rows=old.history_rows - gone[0] + written.rows,
                    current_rows=old.current_rows - gone[1] + written.live,
                ),
                changed=True,
                orphaned_moves=derived.orphans,
            )
            self._apply(versions, keys, Noted(receipt, known.kinds))
        finally:
            derived.release()
        return self._versioned(receipt)

    def _deliveries(
        self, every: DataFrame, batch: Batch, sweeps: DataFrame | None, before: Noted | None
    ) -> Deliveries:
        few = every.where(F.col("_kind") != "row").select(*changes.META)
        kinds = batch.tally.kinds
        if before is not None and before.kinds:
            few = kept(few)
            kinds |= before.kinds
        elif before is not None:
            few = few.where(F.col("_run") == self.run)
        if sweeps is not None:
            few = few.unionByName(sweeps.select(*changes.META))
            kinds |= {"fence"}
        new = every if batch.changes is None else batch.changes
        if changes.IN_FLIGHT in kinds:
            few, every, new = in_flight.by_own_position(few, (few, every, new), self.connector)
        rows = every.where(F.col("_kind") != "fence")
        new = new.where((F.col("_kind") != "fence") & (F.col("_run") == self.run))
        moving = few.where(F.col("_kind") == "move") if "move" in kinds else None
        inferred = self._inferred_moves(rows) if self.connector.rules.infers_moves else None
        if inferred is not None:
            rows, new = moves.announced(rows, inferred), moves.announced(new, inferred)
            moving = rows.where(F.col("_kind") == "move")
        cuts = distinct_fences(few) if "fence" in kinds else None
        return Deliveries(rows, new, cuts, moving, kinds)

    def _context(self, known: Deliveries, tally: Tally) -> Context:
        return Context(
            run=self.run,
            columns=self._columns(known.rows),
            fences=known.fences,
            recorded_at=self.manifest.planned_at,
            rules=self.connector.rules,
            everything=known.rows,
            refused=self._refused() if self.refused or tally.quarantined else None,
            in_flight=known.flying,
        )

    def _refused(self) -> DataFrame:
        """Key and coordinates of the table's records in quarantine."""
        return (
            self.refused_records()
            .where(F.col("record_key").isNotNull())
            .select(
                F.col("record_key").alias("_key"),
                F.col("topic_id").alias("_topic_id"),
                F.col("partition").alias("_partition"),
                F.col("offset").alias("_offset"),
            )
        )

    def refused_records(self) -> DataFrame:
        """The records of the table that cannot be read."""
        return self.quarantine()

    def quarantine(self) -> DataFrame:
        """The table's part of the quarantine."""
        return delta.read(self.spark, self.lake.quarantine).where(F.col("table") == self.cut.table)

    def _columns(self, every: DataFrame) -> Columns:
        json = changes.business_columns(every)
        return Columns(json, self.cut.rules.tracked(tuple(json)))

    def _inferred_moves(self, rows: DataFrame) -> DataFrame | None:
        """The key moves that no header announced, this run's put on record; None without any."""
        path = self.lake.moves(self.cut.table)
        found = kept(moves.halves(rows, self.run))
        if not found.isEmpty():
            delta.append(found, path, self.run)
        return delta.read(self.spark, path) if delta.exists(self.spark, path) else None

    def standing(self, known: Deliveries, tally: Tally, *, swept: bool) -> Standing:
        """What the run finds: the history, and what of it the run may touch."""
        history = delta.read(self.spark, self.lake.history(self.cut.table))
        deleted = self.lake.deleted_keys(self.cut.table)
        late = delta.exists(self.spark, deleted)
        fresh = None
        if known.fences is not None and (tally.fences or swept):
            fresh = known.fences.where(F.col("_first_run") == self.run)
        again = known.flying and (tally.in_flight or tally.reads)
        return Standing(
            history=history,
            heads=heads.heads(history, known.new, fresh),
            deleted_keys=delta.read(self.spark, deleted) if late else None,
            moves=known.moves,
            new_fences=fresh,
            unsettled=known.rows.where("_in_flight").select("_key") if again else None,
            shifts=self.connector.rules.shifts,
        )

    def _derived(
        self, known: Deliveries, keys: Touched, standing: Standing, context: Context
    ) -> Derived:
        parts = []
        if keys.count > keys.rederived or not keys.count:
            appended = keys.rows.where(~F.col("rederive"))
            base = standing.heads.join(appended, "_key", "left_semi")
            batch = known.new.join(appended, "_key", "left_semi")
            parts.append(derive(batch, context, heads=base))
        if keys.rederived:
            every = known.rows.join(keys.rows.where("rederive"), "_key", "left_semi")
            parts.append(derive(every, context, moves=standing.moves is not None))
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

    def _apply(self, versions: DataFrame, keys: Touched | None, noted: Noted) -> None:
        path = self.lake.history(self.cut.table)
        apply.widen(versions, path)
        with delta.fenced(self.spark, self.run, noted.text()):
            if keys is None:
                apply.append(versions, path)
            else:
                apply.replace(versions, keys, path)

    def before(self) -> Noted:
        """What the last run noted of the table; found out anew where the log has lost it."""
        path = self.lake.history(self.cut.table)
        last = next(delta.texts(self.spark, path), None)
        noted = None if last is None else Noted.from_text(last[1])
        if noted is not None:
            return noted
        rows = F.count("*").alias("all"), F.count_if("_is_current").alias("open")
        found = delta.read(self.spark, path).agg(*rows).first()
        receipt = TableReceipt(self.cut.table, self.cut.topic, Counts())
        kinds = changes.kinds(delta.read(self.spark, self.lake.changes(self.cut.table)))
        return Noted(_with_totals(receipt, found["all"], found["open"]), kinds - {"row"})

    def _versioned(self, receipt: TableReceipt) -> TableReceipt:
        path = self.lake.history(self.cut.table)
        return replace(receipt, history_version=delta.version(self.spark, path))


def _with_totals(receipt: TableReceipt, rows: int, current: int) -> TableReceipt:
    counts = replace(receipt.counts, history_rows=rows, current_rows=current)
    return replace(receipt, counts=counts)


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
        "in_flight": F.col("_in_flight") & (kind != verdict.QUARANTINED),
    }
    return [
        F.count(F.lit(1)).alias("landed"),
        *(F.count_if(condition).alias(name) for name, condition in of.items()),
    ]
