"""What versions follow from in a run: the changes of a table that count, its fences, its moves."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from strandline.formats import notification
from strandline.formats.notification import Snapshot
from strandline_spark import changes, delta, fences, in_flight, moves
from strandline_spark.batch import Batch, Tally
from strandline_spark.checkpoint import kept
from strandline_spark.distinct import distinct_fences
from strandline_spark.in_flight import Spans
from strandline_spark.noted import Noted
from strandline_spark.part import Part


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What versions follow from: the table's row changes, and `new`, those of this run.

    `fences` and `moves` are None where there are none; `kinds` are the rare kinds of changes that
    the table has had (`changes.kinds`); `crowded` are keys that look moved no more. `spans`: the
    transactions that go on behind reads; `spanned` says that some are known only now.
    """

    rows: DataFrame
    new: DataFrame
    fences: DataFrame | None
    moves: DataFrame | None
    kinds: frozenset[str]
    crowded: DataFrame | None
    spans: Spans
    spanned: bool

    @property
    def flying(self) -> bool:
        """Whether some stood in a transaction that was open at the connector's start."""
        return changes.IN_FLIGHT in self.kinds


def new_sweeps(part: Part, batch: Batch, before: Noted | None, applied: int) -> DataFrame | None:
    """The fences of complete snapshots, put on record; None where there are no new ones.

    Looked for where a snapshot was completed since the last run that the table has applied, or its
    reads have just arrived.
    """
    path = part.lake.changes(part.cut.table)
    wanted = notification.trusted(
        part.announced.snapshots if batch.tally.reads else _completed(part, before, applied),
        several_tasks=part.connector.rules.several_tasks,
    )
    if not (part.cut.rules.sweep and wanted and delta.exists(part.spark, path)):
        return None
    every = _counting(part, batch, applied)
    old = every.where(F.col("_op") == fences.SWEEP)
    same = F.col("n._seq").eqNullSafe(F.col("o._seq"))
    same &= F.col("n._scope").eqNullSafe(F.col("o._scope"))
    found = fences.sweeps(every, wanted, part.run)
    new = kept(found.alias("n").join(old.alias("o"), same, "left_anti"))
    if new.isEmpty():
        # A run that died after this point has put its own on record already.
        mine = old.where(F.col("_run") == part.run)
        return None if mine.isEmpty() else mine
    delta.append(new, path, part.run, f"{delta.APPLICATION}/{fences.SWEEP}")
    return new


def _completed(part: Part, before: Noted | None, applied: int) -> Sequence[Snapshot]:
    """The snapshots that the table has not heard of; an order, which reads nothing, asks for none.

    Where a table is held, reads of the snapshot may wait for the next compaction.
    """
    if before is None:
        return part.announced.snapshots
    known = applied if before.told is None else before.told
    return part.announced.completed_since(known) if part.manifest.applies else ()


def gathered(
    part: Part, batch: Batch, sweeps: DataFrame | None, before: Noted | None, applied: int
) -> Deliveries:
    """The deliveries of a run; `before` is what the last run `applied` to the table noted, if any.

    `sweeps` are new ones. Puts on record which key moves the run shows that no header announced.
    """
    every = _counting(part, batch, applied)
    few = every.where(F.col("_kind") != "row").select(*changes.META)
    kinds = batch.tally.kinds
    if before is not None and before.kinds:
        few = kept(few)
        kinds |= before.kinds
    elif before is not None:
        few = few.where(F.col("_run") == part.run)
    if sweeps is not None:
        few = few.unionByName(sweeps.select(*changes.META))
        kinds |= {"fence"}
    new = every if batch.changes is None else batch.changes
    new = new.where(F.col("_run") == part.run)
    spans, spanned = _spans(part, every, new, batch.tally, before)
    if spans.transactions:
        kinds |= {changes.IN_FLIGHT}
    if changes.IN_FLIGHT in kinds:
        deliveries = (few, every, new)
        few, every, new = in_flight.by_own_position(few, deliveries, spans, part.connector)
    rows = every.where(F.col("_kind") != "fence")
    new = new.where(F.col("_kind") != "fence")
    moving = few.where(F.col("_kind") == "move") if "move" in kinds else None
    crowded = None
    if part.connector.rules.infers_moves:
        crowded = _judged_moves(part, rows)
        path = part.lake.moves(part.cut.table)
        if delta.exists(part.spark, path):
            inferred = moves.halves(delta.read(part.spark, path))
            rows, new = moves.announced(rows, inferred), moves.announced(new, inferred)
            moving = rows.where(F.col("_kind") == "move")
    cuts = distinct_fences(few) if "fence" in kinds else None
    return Deliveries(rows, new, cuts, moving, kinds, crowded, spans, spanned)


def _counting(part: Part, batch: Batch, applied: int) -> DataFrame:
    """All deliveries that count: this run's, and those of runs that were applied."""
    if applied < 0 and batch.changes is not None:
        return batch.changes
    path = part.lake.changes(part.cut.table)
    return changes.known(part.spark, path, run=part.run, applied=applied)


def _spans(
    part: Part, every: DataFrame, new: DataFrame, tally: Tally, before: Noted | None
) -> tuple[Spans, bool]:
    earlier = None if before is None else before.spans
    spans = in_flight.spans(every, new, tally, earlier, part.connector)
    known = frozenset() if earlier is None else earlier.transactions
    return spans, bool(spans.transactions - known)


def _judged_moves(part: Part, rows: DataFrame) -> DataFrame | None:
    """Puts on record which key moves this run shows that no header announced.

    Keys at places that turn out to be no moves: what was made of them may be wrong.
    """
    found = kept(moves.judged(rows, part.run))
    if found.isEmpty():
        return None
    delta.append(found.drop("_keys"), part.lake.moves(part.cut.table), part.run)
    return found.where(F.col("_old").isNull()).select(F.explode("_keys").alias("_key"))
