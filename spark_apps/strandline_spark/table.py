"""One table of a run: the stages in their order, from landed bytes to the commit of its history."""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline.changes.lineage import held
from strandline.changes.rekeyed import Identity
from strandline.runs import conservation
from strandline.runs.receipt import Counts, TableReceipt
from strandline_spark import (
    abandoned,
    apply,
    audit,
    changes,
    delta,
    derivation,
    fences,
    heads,
    noted,
    rekeyed,
)
from strandline_spark.batch import NOTHING, Batch, Tally, arrived
from strandline_spark.deliveries import Deliveries, gathered, new_sweeps
from strandline_spark.derive import Context, Derived
from strandline_spark.fold import Columns
from strandline_spark.heads import Standing, Touched
from strandline_spark.link import still_out
from strandline_spark.noted import Noted
from strandline_spark.part import Part
from strandline_spark.small import compiled


@dataclass(frozen=True, slots=True)
class TableRun(Part):
    """The stages of one table's part of a manifest."""

    def compact(self) -> TableReceipt:
        """Applies what was landed; raises what goes wrong, having committed no history."""
        history = self.lake.history(self.cut.table)
        applied = delta.applied(self.spark, history)
        if applied >= self.run:
            mine = noted.of_run(self.spark, history, self.run) or self._before()
            return self._versioned(mine.receipt)
        of = (self.spark, self.lake, self.cut.table)
        others = abandoned.is_there(*of, applied)
        batch = self.arrived()
        if others:
            abandoned.forget(*of, applied=applied, run=self.run)
        tally = batch.tally
        receipt = TableReceipt(
            table=self.cut.table,
            topic=self.cut.topic,
            counts=Counts(
                landed=tally.landed, control=tally.control, quarantined=tally.quarantined
            ),
        )
        before = self._before() if applied >= 0 else None
        sweeps = new_sweeps(self, batch, before, applied)
        if sweeps is not None or tally.changes + tally.fences + tally.tombstones:
            receipt = self._fold(batch, sweeps, before, applied, receipt)
        elif before is not None:
            counts = replace(receipt.counts, **before.totals)
            receipt = replace(receipt, counts=counts, orphaned_moves=before.orphans)
            receipt = self._versioned(receipt)
        return receipt

    # ------------------------------------------------------------------ what arrived

    def arrived(self) -> Batch:
        """The changes of the run, on record."""
        return arrived(self) if self.cut.ranges else NOTHING

    # ------------------------------------------------------------------ fold

    def _fold(
        self,
        batch: Batch,
        sweeps: DataFrame | None,
        before: Noted | None,
        applied: int,
        receipt: TableReceipt,
    ) -> TableReceipt:
        known = gathered(self, batch, sweeps, before, applied)
        waited = {} if before is None else before.waiting
        tags = batch.tally.tags | (frozenset() if before is None else before.tags)
        context = replace(self._context(known, batch.tally, waited), several=len(tags) > 1)
        if before is None:
            keys, derived = None, derivation.begun(known, context)
        else:
            with self._compiled(before):
                standing = self.standing(known, batch.tally, swept=sweeps is not None)
            latest = derivation.latest(known, context)
            standing = replace(standing, latest=latest, waiting=waited.keys())
            keys = heads.touched(known.new, self.run, standing)
            derived = derivation.onto(known, keys, standing, context)
        try:
            if derived.regress is not None and self.cut.rules.hold_regress:
                raise held(derived.regress)
            identities = self._identities(known, batch, before)
            if rekeyed.is_contested(identities):
                rekeyed.check(identities, self._after(derived, keys))
            counts = self._counts(receipt.counts, batch.tally, derived, known.fences)
            receipt = replace(receipt, counts=counts, changed=True, regress=derived.regress)
            waiting = still_out(waited, derived.waiting)
            told = self.run if before is None or self.manifest.applies else before.told
            forgotten = None if before is None else before.forgotten
            note = Noted(
                receipt, known.kinds, waiting, identities, tags, known.spans, told, forgotten
            )
            receipt = self._written(note, derived, keys, before)
        finally:
            derived.release()
        return self._versioned(receipt)

    def _written(
        self,
        note: Noted,
        derived: Derived,
        keys: Touched | None,
        before: Noted | None,
    ) -> TableReceipt:
        """Commits the versions, or the run's mark alone where they are what stands already."""
        receipt = replace(note.receipt, orphaned_moves=note.orphans)
        conservation.check(receipt.counts, self.cut.topic)
        versions, new = audit.audited(derived.versions, self.cut.topic)
        gone, count = (Counts(), derived.keys) if keys is None else (keys.gone, keys.count)
        repeated = not receipt.counts.changes and new.rows == gone.history_rows
        if keys is not None and repeated and heads.same(versions, keys.old):
            receipt = replace(receipt, changed=False)
            versions, keys = versions.limit(0), keys.none()
            new, gone = audit.NOTHING, Counts()
        elif derived.unseen is not None and new.heads < count:
            delta.append(derived.unseen, self.lake.deleted_keys(self.cut.table), self.run)
        old = Counts() if before is None else before.receipt.counts
        counts = replace(
            receipt.counts,
            rows_written=new.rows,
            history_rows=old.history_rows - gone.history_rows + new.rows,
            current_rows=old.current_rows - gone.current_rows + new.live,
        )
        receipt = replace(receipt, counts=counts)
        with self._compiled(before):
            self._apply(versions, keys, replace(note, receipt=receipt))
        return receipt

    def _compiled(self, before: Noted | None) -> AbstractContextManager[None]:
        """Around what looks through the last versions of all keys, however few have changes."""
        if before is None or not self.small:
            return nullcontext()
        return compiled(self.spark, before.receipt.counts.current_rows)

    @staticmethod
    def _identities(
        known: Deliveries, batch: Batch, before: Noted | None
    ) -> Mapping[Identity, str]:
        """What rows of the table are told apart by, and where last; looked for where it changes."""
        earlier = {} if before is None else before.keys
        if earlier is None:
            return rekeyed.latest(known.rows)
        forms = batch.keys | {columns for _, columns in earlier}
        if len(forms) < 2:
            return {("", columns): "" for columns in forms}
        if all(earlier.values()):
            return rekeyed.joined(earlier, rekeyed.latest(known.new))
        return rekeyed.latest(known.rows)

    def _after(self, derived: Derived, keys: Touched | None) -> DataFrame:
        """The last versions of all keys, as they are to be after the run."""
        if keys is None:
            return derived.versions
        history = delta.read(self.spark, self.lake.history(self.cut.table)).where("_is_head")
        return (
            history.join(keys.rows, "_key", "left_anti")
            .select(*rekeyed.ASKED)
            .unionByName(derived.versions.select(*rekeyed.ASKED))
        )

    def _context(self, known: Deliveries, tally: Tally, waited: Collection[str]) -> Context:
        return Context(
            run=self.run,
            columns=self._columns(known.rows),
            fences=known.fences,
            recorded_at=self.manifest.planned_at,
            rules=self.connector.rules,
            everything=known.rows,
            refused=self._refused() if self.refused or tally.quarantined else None,
            in_flight=known.flying,
            keyless=bool(self.cut.rules.key),
            expected=waited,
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

    def _columns(self, every: DataFrame) -> Columns:
        json = changes.business_columns(every)
        return Columns(json, self.cut.rules.tracked(tuple(json)))

    def standing(self, known: Deliveries, tally: Tally, *, swept: bool) -> Standing:
        """What the run finds: the history, and what of it the run may touch."""
        history = delta.read(self.spark, self.lake.history(self.cut.table))
        deleted = self.lake.deleted_keys(self.cut.table)
        late = delta.exists(self.spark, deleted)
        flying = tally.in_flight if self.connector.rebases else 0
        again = known.flying and bool(flying or tally.reads or known.spanned)
        cuts = known.fences
        fresh = self._fresh(cuts, again=again, arrived_now=swept or bool(tally.fences))
        return Standing(
            history=history,
            heads=heads.heads(history, known.new, tally.landed, fresh),
            deleted_keys=delta.read(self.spark, deleted) if late else None,
            moves=known.moves,
            new_fences=fresh,
            unsettled=self._unsettled(known, history, again=again),
            local=fences.local(cuts) if cuts is not None and self.connector.rules.shards else None,
            shifts=self.connector.rules.shifts,
        )

    @staticmethod
    def _unsettled(known: Deliveries, history: DataFrame, *, again: bool) -> DataFrame | None:
        parts = [heads.unsettled(known.rows, history, known.fences)] if again else []
        parts += [known.crowded] if known.crowded is not None else []
        return reduce(DataFrame.unionByName, parts) if parts else None

    def _fresh(self, cuts: DataFrame | None, *, again: bool, arrived_now: bool) -> DataFrame | None:
        """The fences that may stand where none stood before; None where there is none.

        `arrived_now`: some are of this run; `again`: those in flight may have stood elsewhere.
        """
        if cuts is None or not (arrived_now or (again and not cuts.where("_in_flight").isEmpty())):
            return None
        moved = F.col("_in_flight") if again else F.lit(False)
        return cuts.where((F.col("_first_run") == self.run) | moved)

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
