"""One table of a run: the stages in their order, from landed bytes to the commit of its history."""

import time
from dataclasses import dataclass, fields, replace
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
    noted,
    observed,
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
from strandline_spark.noted import Noted
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
    the table has had (`changes.kinds`); `crowded` are keys that look moved no more.
    """

    rows: DataFrame
    new: DataFrame
    fences: DataFrame | None
    moves: DataFrame | None
    kinds: frozenset[str]
    crowded: DataFrame | None = None

    @property
    def flying(self) -> bool:
        """Whether some stood in a transaction that was open at the connector's start."""
        return changes.IN_FLIGHT in self.kinds


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
            mine = noted.of_run(self.spark, history, self.run) or self._before()
            return self._versioned(mine.receipt)
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
            counts = replace(receipt.counts, **self._before().totals)
            receipt = self._versioned(replace(receipt, counts=counts))
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
        counted = None
        if delta.applied(self.spark, path) < self.run:
            seen = Observation(f"decode {self.cut.table}")
            changes.store(decoded.observe(seen, *_tallied()), path, of.names, self.run)
            counted = observed.told(self.spark, seen)
        stored = counted is None  # by an attempt before this one, or by another process
        if stored:
            counted = decoded.agg(*_tallied()).first().asDict()
        tally = Tally(**counted)
        if tally.quarantined:
            self._quarantine(decoded)
        if stored or not self.small:
            return Batch(tally, None)
        return Batch(tally, changes.like(decoded, delta.read(self.spark, path).schema))

    def _quarantine(self, decoded: DataFrame) -> None:
        rows = decoded.where(F.col("_verdict") == verdict.QUARANTINED).select(
            F.lit(self.cut.table).alias("table"),
            "_record.*",
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
        before = self._before() if applied >= 0 else None
        known = self._deliveries(self._every(batch, applied), batch, sweeps, before)
        context = self._context(known, batch.tally)
        if before is None:
            keys = None
            derived = derive(known.rows, context, moves=known.moves is not None)
        else:
            standing = self.standing(known, batch.tally, swept=sweeps is not None)
            keys = heads.touched(known.new, standing)
            derived = self._derived(known, keys, standing, context)
        try:
            counts = self._counts(receipt.counts, batch.tally, derived, known.fences)
            receipt = replace(receipt, counts=counts, changed=True, orphaned_moves=derived.orphans)
            receipt = self._written(receipt, derived, keys, before, known.kinds)
        finally:
            derived.release()
        return self._versioned(receipt)

    def _written(
        self,
        receipt: TableReceipt,
        derived: Derived,
        keys: Touched | None,
        before: Noted | None,
        kinds: frozenset[str],
    ) -> TableReceipt:
        """Commits the versions, or the run's mark alone where they are what stands already."""
        audit.conserved(receipt.counts, self.cut.topic)
        versions, new = audit.audited(derived.versions, self.cut.topic)
        gone = Counts() if keys is None else noted.totals(keys.old)
        repeated = not receipt.counts.changes and new.rows == gone.history_rows
        if keys is not None and repeated and heads.same(versions, keys.old):
            receipt = replace(receipt, changed=False)
            versions, keys = versions.limit(0), keys.none()
            new, gone = audit.NOTHING, Counts()
        elif new.heads < (derived.keys if keys is None else keys.count):
            delta.append(derived.unseen, self.lake.deleted_keys(self.cut.table), self.run)
        old = Counts() if before is None else before.receipt.counts
        counts = replace(
            receipt.counts,
            rows_written=new.rows,
            history_rows=old.history_rows - gone.history_rows + new.rows,
            current_rows=old.current_rows - gone.current_rows + new.live,
        )
        receipt = replace(receipt, counts=counts)
        self._apply(versions, keys, Noted(receipt, kinds))
        return receipt

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
        crowded = None
        if self.connector.rules.infers_moves:
            crowded = self._judged_moves(rows)
            path = self.lake.moves(self.cut.table)
            if delta.exists(self.spark, path):
                inferred = moves.halves(delta.read(self.spark, path))
                rows, new = moves.announced(rows, inferred), moves.announced(new, inferred)
                moving = rows.where(F.col("_kind") == "move")
        cuts = distinct_fences(few) if "fence" in kinds else None
        return Deliveries(rows, new, cuts, moving, kinds, crowded)

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

    def _judged_moves(self, rows: DataFrame) -> DataFrame | None:
        """Puts on record which key moves this run shows that no header announced.

        Keys at places that turn out to be no moves: what was made of them may be wrong.
        """
        found = kept(moves.judged(rows, self.run))
        if found.isEmpty():
            return None
        delta.append(found.drop("_keys"), self.lake.moves(self.cut.table), self.run)
        return found.where(F.col("_old").isNull()).select(F.explode("_keys").alias("_key"))

    def standing(self, known: Deliveries, tally: Tally, *, swept: bool) -> Standing:
        """What the run finds: the history, and what of it the run may touch."""
        history = delta.read(self.spark, self.lake.history(self.cut.table))
        deleted = self.lake.deleted_keys(self.cut.table)
        late = delta.exists(self.spark, deleted)
        again = known.flying and bool(tally.in_flight or tally.reads)
        fresh = self._fresh(known.fences, again=again, come=swept or bool(tally.fences))
        return Standing(
            history=history,
            heads=heads.heads(history, known.new, fresh),
            deleted_keys=delta.read(self.spark, deleted) if late else None,
            moves=known.moves,
            new_fences=fresh,
            unsettled=self._unsettled(known, history, again=again),
            shifts=self.connector.rules.shifts,
        )

    @staticmethod
    def _unsettled(known: Deliveries, history: DataFrame, *, again: bool) -> DataFrame | None:
        parts = [heads.unsettled(known.rows, history, known.fences)] if again else []
        parts += [known.crowded] if known.crowded is not None else []
        return reduce(DataFrame.unionByName, parts) if parts else None

    def _fresh(self, cuts: DataFrame | None, *, again: bool, come: bool) -> DataFrame | None:
        """The fences that may stand where none stood before; None where there is none.

        `come`: some are of this run; `again`: those in flight may have stood elsewhere.
        """
        if cuts is None or not (come or (again and not cuts.where("_in_flight").isEmpty())):
            return None
        moved = F.col("_in_flight") if again else F.lit(False)
        return cuts.where((F.col("_first_run") == self.run) | moved)

    def _derived(
        self, known: Deliveries, keys: Touched, standing: Standing, context: Context
    ) -> Derived:
        parts = []
        if keys.count > keys.rederived or not keys.count:
            appended = keys.rows.where(~F.col("_rederive"))
            base = standing.heads.join(appended, "_key", "left_semi")
            batch = known.new.join(appended, "_key", "left_semi")
            parts.append(derive(batch, context, heads=base))
        if keys.rederived:
            every = known.rows.join(keys.rows.where("_rederive"), "_key", "left_semi")
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

    def _apply(self, versions: DataFrame, keys: Touched | None, note: Noted) -> None:
        path = self.lake.history(self.cut.table)
        apply.widen(versions, path)
        with delta.fenced(self.spark, self.run, note.text()):
            if keys is None:
                apply.append(versions, path)
            else:
                apply.replace(versions, keys, path)

    def _before(self) -> Noted:
        return noted.last(self.spark, self.lake, self.cut)

    def _versioned(self, receipt: TableReceipt) -> TableReceipt:
        path = self.lake.history(self.cut.table)
        return replace(receipt, history_version=delta.version(self.spark, path))


def _tallied() -> list[Column]:
    kind = F.col("_verdict")
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
